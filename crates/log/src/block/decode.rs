//! Blocks to physical records.

use super::{Kind, LEGACY_HEADER, RECYCLABLE_HEADER, checksum::mask};
use std::ops::Range;

/// Which records a reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Either header, any log number.
    Any,
    /// The recyclable header with this log number only, so that bytes of a recycled file's earlier
    /// life are refused.
    Number(u32),
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The type byte is unknown.
    #[error("unknown record type")]
    Kind,
    /// It belongs to another segment, or has the other header form.
    #[error("record of another segment")]
    Number,
    /// It would cross the end of the block.
    #[error("record length beyond its block")]
    Length,
    /// The checksum does not match.
    #[error("checksum mismatch")]
    Checksum,
    /// A fragment without its beginning, or a beginning without its end.
    #[error("fragments out of order")]
    Fragment,
    /// A compressed batch that does not hold what it says.
    #[error("compressed batch that does not decompress to its records")]
    Batch,
    /// The file ends within a record.
    #[error("file too short")]
    Short,
}

/// What is at an offset of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// A physical record.
    Record {
        /// What it holds.
        kind: Kind,
        /// Where in the block its payload is.
        payload: Range<usize>,
    },
    /// Fewer bytes than a header are left: go on in the next block.
    Tail,
    /// A zero header: nothing has been written here.
    Zero,
    /// No record.
    Invalid(Invalid),
}

/// Decodes what is at offset `at` of a block (a whole block, or what there is of the last one).
pub fn decode(block: &[u8], at: usize, expect: Expect) -> Decoded {
    let bytes = block.get(at..).unwrap_or_default();
    let header = match expect {
        Expect::Any => LEGACY_HEADER,
        Expect::Number(_) => RECYCLABLE_HEADER,
    };
    let Some((&[c0, c1, c2, c3, l0, l1, code], _)) = bytes
        .split_first_chunk::<LEGACY_HEADER>()
        .filter(|_| bytes.len() >= header)
    else {
        return Decoded::Tail;
    };
    let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
    let counted = usize::from(u16::from_le_bytes([l0, l1]));
    if code == 0 && checksum == 0 && counted == 0 {
        return Decoded::Zero;
    }
    let Some((kind, recyclable)) = Kind::from_code(code) else {
        return Decoded::Invalid(Invalid::Kind);
    };
    if let Expect::Number(number) = expect
        && (!recyclable || bytes[LEGACY_HEADER..RECYCLABLE_HEADER] != number.to_le_bytes())
    {
        return Decoded::Invalid(Invalid::Number);
    }
    let start = if recyclable {
        RECYCLABLE_HEADER
    } else {
        LEGACY_HEADER
    };
    let end = if kind.is_own() {
        LEGACY_HEADER + counted
    } else {
        start + counted
    };
    if end > bytes.len() || end < start {
        return Decoded::Invalid(Invalid::Length);
    }
    // The type byte, the log number and the payload lie side by side.
    if mask(crc32c::crc32c(&bytes[LEGACY_HEADER - 1..end])) != checksum {
        return Decoded::Invalid(Invalid::Checksum);
    }
    Decoded::Record {
        kind,
        payload: at + start..at + end,
    }
}

/// Recognises whole records of one log number: nearly all that a segment holds. Takes far fewer
/// instructions than `decode`, which says what everything else is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Full {
    /// Type byte and log number, as they stand in the header.
    tag: [u8; RECYCLABLE_HEADER - LEGACY_HEADER + 1],
    /// Their checksum: what that of every such record begins with.
    seed: u32,
}

impl Full {
    pub(crate) fn of(number: u32) -> Full {
        let [n0, n1, n2, n3] = number.to_le_bytes();
        let tag = [Kind::Full.code(true), n0, n1, n2, n3];
        Full {
            tag,
            seed: crc32c::crc32c(&tag),
        }
    }

    /// Where in the block the payload of the record at `at` is; none when that is not a valid
    /// record of this kind.
    #[inline]
    pub(crate) fn at(&self, block: &[u8], at: usize) -> Option<Range<usize>> {
        let (&[c0, c1, c2, c3, l0, l1, ref tag @ ..], rest) =
            block.get(at..)?.split_first_chunk::<RECYCLABLE_HEADER>()?;
        let payload = rest.get(..usize::from(u16::from_le_bytes([l0, l1])))?;
        let start = at + RECYCLABLE_HEADER;
        (*tag == self.tag
            && mask(crc32c::crc32c_append(self.seed, payload))
                == u32::from_le_bytes([c0, c1, c2, c3]))
        .then(|| start..start + payload.len())
    }
}
