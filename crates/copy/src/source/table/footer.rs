//! A table's last bytes: which checksum it uses, and where its metaindex is.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};
use xxhash_rust::xxh32::Xxh32;
use xxhash_rust::xxh64::Xxh64;

use super::block::{Handle, TRAILER_BYTES, varint};
use crate::source::crc::masked;

/// Bytes of a footer.
pub(super) const FOOTER_BYTES: usize = 53;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const XXH3: u8 = 4;
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0, 0x7a, 0];
/// How blocks are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum {
    kind: u8,
    /// Mixed with a block's offset since version 6, so that a misplaced block is found; else 0.
    context: u32,
}

/// The checksum of data that comes in pieces.
pub(super) enum Running {
    Crc32c(u32),
    Xxh32(Xxh32),
    Xxh64(Xxh64),
    Xxh3(Box<Xxh3>),
}

/// What a footer says.
#[derive(Debug)]
pub(super) struct Footer {
    pub checksum: Checksum,
    pub metaindex: Handle,
    /// Since version 6 the metaindex names it.
    pub index: Option<Handle>,
}

/// Why a table could not be checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its bytes are not what was written.
    Damaged(String),
    /// It is of a form that this module does not know.
    Unknown(String),
    /// It is compressed by something that this program lacks.
    Codec(&'static str),
}

impl Checksum {
    /// The checksum of `data` with its last byte apart, at `offset` of the file; `None` where the
    /// file has none.
    pub fn of(self, data: &[u8], last: u8, offset: u64) -> Option<u32> {
        if self.kind == XXH3 {
            // The most frequent by far, and cheap only in one piece.
            return Some(self.finished(xxh3_64(data) as u32 ^ mixed(last), offset));
        }
        let mut running = self.start()?;
        running.update(data);
        Some(self.finish(running, last, offset))
    }

    /// The checksum of data that comes in pieces; `None` where the file has none.
    pub fn start(self) -> Option<Running> {
        Some(match self.kind {
            0 => return None,
            1 => Running::Crc32c(0),
            2 => Running::Xxh32(Xxh32::new(0)),
            3 => Running::Xxh64(Xxh64::new(0)),
            _ => Running::Xxh3(Box::default()),
        })
    }

    /// Ends what [`Checksum::start`] began.
    pub fn finish(self, running: Running, last: u8, offset: u64) -> u32 {
        let plain = match running {
            Running::Crc32c(crc) => masked(crc32c::crc32c_append(crc, &[last])),
            Running::Xxh32(mut hash) => {
                hash.update(&[last]);
                hash.digest()
            }
            Running::Xxh64(mut hash) => {
                hash.update(&[last]);
                hash.digest() as u32
            }
            Running::Xxh3(hash) => hash.digest() as u32 ^ mixed(last),
        };
        self.finished(plain, offset)
    }

    fn finished(self, plain: u32, offset: u64) -> u32 {
        plain.wrapping_add(self.modifier(offset))
    }

    fn modifier(self, offset: u64) -> u32 {
        match self.context {
            0 => 0,
            context => context ^ (offset as u32).wrapping_add((offset >> 32) as u32),
        }
    }
}

impl Running {
    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        match self {
            Running::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, piece),
            Running::Xxh32(hash) => hash.update(piece),
            Running::Xxh64(hash) => hash.update(piece),
            Running::Xxh3(hash) => hash.update(piece),
        }
    }
}

/// How a block's last byte goes into its checksum of this kind.
fn mixed(last: u8) -> u32 {
    u32::from(last).wrapping_mul(0x6b90_83d9)
}

/// Reads the footer that begins at `offset`.
pub(super) fn read(bytes: &[u8; FOOTER_BYTES], offset: u64) -> Result<Footer, Fault> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        u32::from_le_bytes(four.unwrap_or_default())
    };
    let magic = u64::from(number(49)) << 32 | u64::from(number(45));
    if magic != MAGIC {
        return Err(Fault::Damaged(
            "its last bytes are not those of a block-based table".to_owned(),
        ));
    }
    let version = number(41);
    if !(2..=7).contains(&version) {
        return Err(Fault::Unknown(format!("format version {version}")));
    }
    let kind = bytes[0];
    if kind > XXH3 {
        return Err(Fault::Unknown(format!("checksum type {kind}")));
    }
    let plain = Checksum { kind, context: 0 };
    if version < 6 {
        let mut input = &bytes[1..41];
        let mut handle = || {
            let handle = Handle {
                offset: varint(&mut input)?,
                size: varint(&mut input)?,
            };
            Some(handle)
        };
        let damaged = || Fault::Damaged("its footer has no handles".to_owned());
        return Ok(Footer {
            checksum: plain,
            metaindex: handle().ok_or_else(damaged)?,
            index: Some(handle().ok_or_else(damaged)?),
        });
    }
    let checksum = Checksum {
        kind,
        context: number(9),
    };
    let mut cleared = *bytes;
    cleared[5..9].fill(0);
    let expected = checksum.of(
        &cleared[..FOOTER_BYTES - 1],
        cleared[FOOTER_BYTES - 1],
        offset,
    );
    if bytes[1..5] != EXTENDED_MAGIC || expected.is_some_and(|sum| sum != number(5)) {
        return Err(Fault::Damaged(
            "its footer does not match its checksum".to_owned(),
        ));
    }
    let size = u64::from(number(13));
    let begin = offset.checked_sub(size + TRAILER_BYTES);
    Ok(Footer {
        checksum,
        metaindex: Handle {
            offset: begin
                .ok_or_else(|| Fault::Damaged("its footer is of another file".to_owned()))?,
            size,
        },
        index: None,
    })
}
