//! RocksDB's write batch: what its log's records hold.
//! `sequence u64 | count u32 | operations`, an operation being a tag, perhaps a column family's
//! number (varint32), and up to two byte strings, each behind its length (varint32).

use super::batch_op::Op;

/// Sequence numbers have 56 bits.
const SEQUENCE_MAX: u64 = (1 << 56) - 1;

/// A write batch as it stands in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteBatch<'a> {
    /// Sequence number of its first operation.
    pub sequence: u64,
    /// How many operations it says it has.
    pub count: u32,
    rest: &'a [u8],
}

/// Why bytes are no write batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// They end too early.
    #[error("write batch too short")]
    Short,
    /// An operation this version does not know.
    #[error("unknown write batch tag {0}")]
    Tag(u8),
    /// A length or number of more than 32 bits.
    #[error("write batch length beyond 32 bits")]
    Varint,
    /// The sequence number has more than 56 bits.
    #[error("impossible sequence number")]
    Sequence,
    /// It has more or fewer operations than it says.
    #[error("write batch of {found} operations says it has {said}")]
    Count {
        /// What it says.
        said: u32,
        /// What it has.
        found: u32,
    },
}

impl<'a> WriteBatch<'a> {
    /// Reads the twelve bytes before the operations.
    ///
    /// # Errors
    /// [`BatchError`]: it is too short, or the sequence number is impossible.
    pub fn new(payload: &'a [u8]) -> Result<WriteBatch<'a>, BatchError> {
        let (sequence, rest) = payload.split_first_chunk().ok_or(BatchError::Short)?;
        let (count, rest) = rest.split_first_chunk().ok_or(BatchError::Short)?;
        let sequence = u64::from_le_bytes(*sequence);
        if sequence > SEQUENCE_MAX {
            return Err(BatchError::Sequence);
        }
        Ok(WriteBatch {
            sequence,
            count: u32::from_le_bytes(*count),
            rest,
        })
    }

    /// The operations; the first error is the last item.
    pub fn ops(&self) -> impl Iterator<Item = Result<Op<'a>, BatchError>> + use<'a> {
        let mut rest = self.rest;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let op = Op::take(&mut rest);
            if op.is_err() {
                rest = &[];
            }
            Some(op)
        })
    }

    /// Whether every operation can be read and there are as many as it says.
    ///
    /// # Errors
    /// [`BatchError`]: the first thing that is not so.
    pub fn check(&self) -> Result<(), BatchError> {
        let mut found = 0u32;
        for op in self.ops() {
            found = found.saturating_add(u32::from(op?.is_counted()));
        }
        if found == self.count {
            Ok(())
        } else {
            Err(BatchError::Count {
                said: self.count,
                found,
            })
        }
    }

    /// The batch a payload holds, when all of it is one.
    pub fn whole(payload: &'a [u8]) -> Option<WriteBatch<'a>> {
        let batch = WriteBatch::new(payload).ok()?;
        batch.check().ok()?;
        Some(batch)
    }
}

#[cfg(test)]
#[path = "write_batch_tests.rs"]
mod tests;
