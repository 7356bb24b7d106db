//! Goes over a whole table.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::block::{self, Handle, Handles, IndexForm, TRAILER_BYTES};
use super::footer::{self, Checksum, FOOTER_BYTES, Fault};
use super::record::{self, Record};
use crate::CopyError;
use crate::error::no_codec;

/// Read at once.
const WINDOW_BYTES: u64 = 1 << 20;
/// Blocks whose records are looked at between two questions whether to go on.
const BLOCKS_BETWEEN: u64 = 1024;
/// No block may be larger: the format has 32 bits for it.
const BLOCK_BYTES_MAX: u64 = 1 << 32;

/// What is done with blocks of data.
enum Aim<'a> {
    /// Nothing: the index says how large they are.
    Measure,
    /// Compared with their checksums.
    Check,
    /// Their records are looked at. Asked now and then whether to go on.
    Survey(&'a mut dyn FnMut() -> Result<(), CopyError>),
}

/// Reads every block of the table at `path` and compares it with its checksum.
pub(crate) fn check(path: &Path) -> Result<(), CopyError> {
    walk(path, Aim::Check).map(drop)
}

/// Bytes of the largest block of data, from the index alone.
pub(crate) fn largest_block(path: &Path) -> Result<u64, CopyError> {
    Ok(walk(path, Aim::Measure)?.largest_bytes)
}

/// The first record of the table at `path` that is no plain value and no delete. `go_on` is asked
/// now and then.
pub(crate) fn survey(
    path: &Path,
    go_on: &mut dyn FnMut() -> Result<(), CopyError>,
) -> Result<Option<Record>, CopyError> {
    let seen = walk(path, Aim::Survey(go_on))?;
    match seen.stopped {
        Some(error) => Err(error),
        None => Ok(seen.odd),
    }
}

fn walk(path: &Path, aim: Aim<'_>) -> Result<Seen, CopyError> {
    let at = |error| CopyError::io(path, error);
    let file = File::open(path).map_err(at)?;
    let length = file.metadata().map_err(at)?.len();
    let advice = match aim {
        Aim::Survey(_) => "files",
        _ => "ingest",
    };
    let table = Table {
        file,
        length,
        checksum: None,
        window: Vec::new(),
        window_offset: 0,
        aim,
        seen: Seen::default(),
    };
    table.walk().map_err(|fault| match fault {
        Fault::Damaged(detail) => CopyError::Damaged {
            file: path.to_path_buf(),
            detail,
        },
        Fault::Unknown(detail) => CopyError::Unsupported {
            path: path.to_path_buf(),
            detail: format!("the table cannot be checked ({detail}); use --mode {advice}"),
        },
        Fault::Codec(name) => CopyError::Unsupported {
            path: path.to_path_buf(),
            detail: no_codec(name),
        },
    })
}

/// What was seen of a table.
#[derive(Default)]
struct Seen {
    /// Bytes of the largest block of data.
    largest_bytes: u64,
    /// The first record that is no plain one.
    odd: Option<Record>,
    /// Why it was not seen to its end.
    stopped: Option<CopyError>,
    blocks: u64,
}

struct Table<'a> {
    file: File,
    length: u64,
    checksum: Option<Checksum>,
    window: Vec<u8>,
    window_offset: u64,
    aim: Aim<'a>,
    seen: Seen,
}

impl Table<'_> {
    fn walk(mut self) -> Result<Seen, Fault> {
        let mut bytes = [0; FOOTER_BYTES];
        let offset = self.length.checked_sub(FOOTER_BYTES as u64);
        let offset = offset.ok_or_else(|| Fault::Damaged("it is too short".to_owned()))?;
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| Fault::Damaged(error.to_string()))?;
        let footer = footer::read(&bytes, offset)?;
        self.checksum = Some(footer.checksum);
        let metaindex = self.content(footer.metaindex)?;
        let described = block::pairs(&metaindex).ok_or_else(|| unknown("metaindex"))?;
        let mut index = footer.index;
        let mut form = IndexForm::default();
        for (name, value) in &described {
            let handle = block::handle(value).ok_or_else(|| unknown("metaindex"))?;
            match name.as_slice() {
                b"rocksdb.index" => index = Some(handle),
                b"rocksdb.properties" => form = properties(&self.content(handle)?)?,
                _ if matches!(self.aim, Aim::Check) => self.verify(handle)?,
                _ => {}
            }
        }
        let index = index.ok_or_else(|| unknown("no index"))?;
        self.index(index, form)?;
        Ok(self.seen)
    }

    fn index(&mut self, index: Handle, form: IndexForm) -> Result<(), Fault> {
        let content = self.content(index)?;
        let inner = IndexForm {
            is_partitioned: false,
            ..form
        };
        for handle in Handles::of(&content, form).ok_or_else(|| unknown("index"))? {
            let handle = handle.ok_or_else(|| unknown("index"))?;
            if form.is_partitioned {
                self.index(handle, inner)?
            } else {
                self.data(handle)?
            }
        }
        Ok(())
    }

    fn data(&mut self, handle: Handle) -> Result<(), Fault> {
        self.seen.largest_bytes = self.seen.largest_bytes.max(handle.size);
        self.seen.blocks += 1;
        match &mut self.aim {
            Aim::Measure => Ok(()),
            Aim::Check => self.verify(handle),
            Aim::Survey(_) if self.seen.odd.is_some() || self.seen.stopped.is_some() => Ok(()),
            Aim::Survey(go_on) => {
                if self.seen.blocks.is_multiple_of(BLOCKS_BETWEEN)
                    && let Err(error) = go_on()
                {
                    self.seen.stopped = Some(error);
                    return Ok(());
                }
                let (data, codec) = self.block(handle)?;
                let odd = match codec {
                    0 => record::odd(data),
                    _ => record::odd(&self.content(handle)?),
                };
                self.seen.odd = odd.ok_or_else(|| unknown("data"))?;
                Ok(())
            }
        }
    }

    /// Checks a block, in little memory however large it is.
    fn verify(&mut self, handle: Handle) -> Result<(), Fault> {
        if handle.size <= WINDOW_BYTES {
            return self.block(handle).map(drop);
        }
        let end = handle.offset.saturating_add(handle.size);
        if end.saturating_add(TRAILER_BYTES) > self.length {
            return Err(damaged(handle));
        }
        let failed = |error: std::io::Error| Fault::Damaged(error.to_string());
        let mut running = self.checksum.and_then(Checksum::start);
        let mut at = handle.offset;
        self.window_offset = 0;
        while at < end {
            self.window.resize(WINDOW_BYTES.min(end - at) as usize, 0);
            self.file
                .read_exact_at(&mut self.window, at)
                .map_err(failed)?;
            at += self.window.len() as u64;
            if let Some(running) = &mut running {
                running.update(&self.window);
            }
        }
        // What is in the window is no longer from one place.
        self.window.clear();
        let mut trailer = [0; TRAILER_BYTES as usize];
        self.file.read_exact_at(&mut trailer, end).map_err(failed)?;
        let [codec, c0, c1, c2, c3] = trailer;
        if let (Some(checksum), Some(running)) = (self.checksum, running)
            && checksum.finish(running, codec, handle.offset)
                != u32::from_le_bytes([c0, c1, c2, c3])
        {
            return Err(damaged(handle));
        }
        known(codec)
    }

    /// A block as it is on disk, checked, and its compression.
    fn block(&mut self, handle: Handle) -> Result<(&[u8], u8), Fault> {
        let whole = handle.size.saturating_add(TRAILER_BYTES);
        let end = handle.offset.saturating_add(whole);
        if end > self.length || whole > BLOCK_BYTES_MAX {
            return Err(damaged(handle));
        }
        let window_end = self.window_offset + self.window.len() as u64;
        if handle.offset < self.window_offset || end > window_end {
            let length = whole.max(WINDOW_BYTES).min(self.length - handle.offset);
            self.window.resize(length as usize, 0);
            self.window.shrink_to(length as usize);
            self.window_offset = handle.offset;
            let read = self.file.read_exact_at(&mut self.window, handle.offset);
            read.map_err(|error| Fault::Damaged(error.to_string()))?;
        }
        let begin = (handle.offset - self.window_offset) as usize;
        let block = self.window.get(begin..begin + whole as usize);
        let Some((data, &[codec, c0, c1, c2, c3])) =
            block.and_then(|block| block.split_last_chunk())
        else {
            return Err(damaged(handle));
        };
        let expected = self
            .checksum
            .and_then(|sum| sum.of(data, codec, handle.offset));
        if expected.is_some_and(|sum| sum != u32::from_le_bytes([c0, c1, c2, c3])) {
            return Err(damaged(handle));
        }
        known(codec)?;
        Ok((data, codec))
    }

    /// A checked block's content.
    fn content(&mut self, handle: Handle) -> Result<Vec<u8>, Fault> {
        let (mut data, codec) = self.block(handle)?;
        if codec == 0 {
            return Ok(data.to_vec());
        }
        if codec == 1 {
            // The only one that says by itself how long it becomes.
            let length = snap::raw::decompress_len(data).map_err(|_| damaged(handle))?;
            if length as u64 > BLOCK_BYTES_MAX {
                return Err(damaged(handle));
            }
            let inflated = snap::raw::Decoder::new().decompress_vec(data);
            return inflated.map_err(|_| damaged(handle));
        }
        let length = block::varint(&mut data).and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| *length as u64 <= BLOCK_BYTES_MAX);
        let length = length.ok_or_else(|| damaged(handle))?;
        match codec {
            4 | 5 => lz4_flex::block::decompress(data, length).map_err(|_| damaged(handle)),
            7 => zstd::bulk::decompress(data, length).map_err(|_| damaged(handle)),
            2 => inflated(flate2::read::DeflateDecoder::new(data), length, handle),
            3 => inflated(bzip2::read::BzDecoder::new(data), length, handle),
            other => Err(Fault::Unknown(format!("compression type {other}"))),
        }
    }
}

/// How the index is written.
fn properties(content: &[u8]) -> Result<IndexForm, Fault> {
    let mut form = IndexForm::default();
    for (name, mut value) in block::pairs(content).ok_or_else(|| unknown("properties"))? {
        match name.as_slice() {
            b"rocksdb.index.value.is.delta.encoded" => {
                form.is_delta_encoded = block::varint(&mut value) == Some(1);
            }
            b"rocksdb.block.based.table.index.type" => match value.first() {
                Some(0 | 1) => {}
                Some(2) => form.is_partitioned = true,
                Some(3) => form.has_first_key = true,
                _ => return Err(unknown("index")),
            },
            _ => {}
        }
    }
    Ok(form)
}

/// Refuses compressions that this program lacks: the copy would be whole, but neither it nor its
/// source could be compared here.
fn known(codec: u8) -> Result<(), Fault> {
    match codec {
        6 => Err(Fault::Codec("XPRESS")),
        _ => Ok(()),
    }
}

/// What `input` becomes, which must be `length` bytes.
fn inflated(input: impl Read, length: usize, handle: Handle) -> Result<Vec<u8>, Fault> {
    let mut content = Vec::new();
    let read = input.take(length as u64 + 1).read_to_end(&mut content);
    match read {
        Ok(read) if read == length => Ok(content),
        _ => Err(damaged(handle)),
    }
}

fn damaged(handle: Handle) -> Fault {
    Fault::Damaged(format!(
        "the block at byte {} does not match its checksum",
        handle.offset
    ))
}

fn unknown(what: &str) -> Fault {
    Fault::Unknown(format!("its {what} is of an unknown form"))
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
