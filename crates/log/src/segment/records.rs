//! Logical records of a segment, streamed.

use super::{
    header::SegmentHeader,
    mark,
    scan::{Scanner, Step},
};
use crate::block::{Invalid, Kind};
use std::io;

/// Reads logical records, and what stands between them.
pub(crate) struct Records {
    scanner: Scanner,
    /// Physical bytes that hold no record: padding, and Dunlin's own records.
    pub overhead_bytes: u64,
}

/// What is next in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A logical record that begins at `offset`.
    Record { offset: u64, length: usize },
    /// A segment header; an error when this version cannot read it.
    Header {
        offset: u64,
        header: Result<SegmentHeader, &'static str>,
    },
    /// A sync mark, and what it vouches for.
    Mark { synced_offset: u64 },
    /// The end of what has been written, at a record's boundary.
    End { offset: u64 },
    /// Bytes at `offset` that are no record. What precedes `cut` is whole.
    Invalid {
        offset: u64,
        cut: u64,
        reason: Invalid,
    },
}

impl Records {
    pub(crate) fn new(scanner: Scanner) -> Records {
        Records {
            scanner,
            overhead_bytes: 0,
        }
    }

    /// Where the next item is looked for.
    pub(crate) fn offset(&self) -> u64 {
        self.scanner.offset()
    }

    /// The next item. A record's bytes are appended to `out`, when given.
    pub(crate) fn next(&mut self, mut out: Option<&mut Vec<u8>>) -> io::Result<Item> {
        let mut begun: Option<(u64, usize)> = None;
        loop {
            let before = self.scanner.offset();
            let step = self.scanner.step()?;
            let (offset, kind, payload) = match step {
                Step::Physical {
                    offset,
                    kind,
                    payload,
                } => (offset, kind, payload),
                Step::End { offset } => {
                    return Ok(match begun {
                        None => Item::End { offset },
                        Some((cut, _)) => Item::Invalid {
                            offset,
                            cut,
                            reason: Invalid::Fragment,
                        },
                    });
                }
                Step::Invalid { offset, reason } => {
                    let cut = begun.map_or(offset, |(cut, _)| cut);
                    return Ok(Item::Invalid {
                        offset,
                        cut,
                        reason,
                    });
                }
            };
            let length = payload.len();
            match (kind, begun) {
                (Kind::Full | Kind::First, None) | (Kind::Middle | Kind::Last, Some(_)) => {
                    if let Some(out) = out.as_deref_mut() {
                        out.extend_from_slice(self.scanner.payload(payload));
                    }
                    let (start, sum) = begun.unwrap_or((offset, 0));
                    let length = sum + length;
                    self.overhead_bytes += offset - before;
                    if matches!(kind, Kind::Full | Kind::Last) {
                        return Ok(Item::Record {
                            offset: start,
                            length,
                        });
                    }
                    begun = Some((start, length));
                }
                (Kind::SegmentHeader, None) => {
                    self.overhead_bytes += self.scanner.offset() - before;
                    return Ok(Item::Header {
                        offset,
                        header: SegmentHeader::decode(self.scanner.payload(payload)),
                    });
                }
                (Kind::SyncMark, None) => {
                    self.overhead_bytes += self.scanner.offset() - before;
                    // A mark that vouches for the impossible vouches for nothing.
                    let synced_offset =
                        mark::decode(self.scanner.payload(payload), offset).unwrap_or(0);
                    return Ok(Item::Mark { synced_offset });
                }
                (Kind::Pad, None) => self.overhead_bytes += self.scanner.offset() - before,
                (_, Some((cut, _))) => {
                    return Ok(Item::Invalid {
                        offset,
                        cut,
                        reason: Invalid::Fragment,
                    });
                }
                (_, None) => {
                    return Ok(Item::Invalid {
                        offset,
                        cut: offset,
                        reason: Invalid::Fragment,
                    });
                }
            }
        }
    }
}
