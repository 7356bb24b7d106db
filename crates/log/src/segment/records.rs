//! Logical records of a segment, streamed.

use super::{
    header::SegmentHeader,
    mark,
    scan::{Scanner, Step},
};
use crate::{
    batch::{PAYLOAD_BYTES_MAX, Tally, Unpacker},
    block::{Invalid, Kind},
};
use bytes::Bytes;
use std::{io, mem, ops::Range};

/// A buffer larger than this, in bytes, was for one huge record and is given back.
const KEPT_BYTES: usize = 1 << 20;

/// Reads logical records, and what stands between them.
pub(crate) struct Records {
    scanner: Scanner,
    /// Whether the pieces of a split record are put together for `record`.
    pub gather: bool,
    /// Physical bytes that hold no record: padding, and Dunlin's own records.
    pub overhead_bytes: u64,
    /// Compressed batches read.
    pub tally: Tally,
    /// The batch whose records are being given.
    unpacker: Unpacker,
    /// Where it begins.
    batch_offset: u64,
    /// The payload of a record or batch that was split.
    gathered: Vec<u8>,
    /// Where the bytes of the last record are.
    last: Last,
}

enum Last {
    /// In what the scanner has read.
    Chunk(Range<usize>),
    /// In the batch.
    Batch,
    /// In `gathered`.
    Gathered,
}

/// What is next in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A logical record; it, or the batch it is in, begins at `offset`.
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

/// A logical record, or a batch of them, of which more is to come.
#[derive(Clone, Copy)]
struct Begun {
    offset: u64,
    length: usize,
    is_batch: bool,
}

/// What a physical record is a part of.
enum Part {
    /// Of a logical record or a batch.
    Of {
        is_batch: bool,
        place: Place,
    },
    Header,
    Mark,
    Pad,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Begin,
    Middle,
    End,
}

impl Part {
    fn of(kind: Kind) -> Part {
        let (is_batch, place) = match kind {
            Kind::SegmentHeader => return Part::Header,
            Kind::SyncMark => return Part::Mark,
            Kind::Pad => return Part::Pad,
            Kind::Full => (false, Place::Whole),
            Kind::First => (false, Place::Begin),
            Kind::Middle => (false, Place::Middle),
            Kind::Last => (false, Place::End),
            Kind::BatchFull => (true, Place::Whole),
            Kind::BatchFirst => (true, Place::Begin),
            Kind::BatchMiddle => (true, Place::Middle),
            Kind::BatchLast => (true, Place::End),
        };
        Part::Of { is_batch, place }
    }
}

impl Records {
    pub(crate) fn new(scanner: Scanner) -> Records {
        Records {
            scanner,
            gather: true,
            overhead_bytes: 0,
            tally: Tally::default(),
            unpacker: Unpacker::default(),
            batch_offset: 0,
            gathered: Vec::new(),
            last: Last::Gathered,
        }
    }

    /// Reads up to another limit, when more has been written since.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.scanner.set_limit(limit);
    }

    /// Gives back the memory that one huge record took.
    pub(crate) fn shrink(&mut self) {
        if self.gathered.capacity() > KEPT_BYTES {
            self.gathered = Vec::new();
        }
        self.unpacker.shrink();
    }

    /// Where the next item is looked for; behind the batch while its records are being given.
    pub(crate) fn offset(&self) -> u64 {
        self.scanner.offset()
    }

    /// The bytes of the record that `next` gave last; once. Nothing is copied.
    pub(crate) fn record(&mut self) -> Bytes {
        match &self.last {
            Last::Chunk(range) => self.scanner.shared(range.clone()),
            Last::Batch => self.unpacker.record(),
            Last::Gathered => mem::take(&mut self.gathered).into(),
        }
    }

    /// The next item.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Item> {
        if !self.unpacker.has_more() {
            let offset = self.scanner.offset();
            if let Some(payload) = self.scanner.full() {
                let length = payload.len();
                self.last = Last::Chunk(payload);
                return Ok(Item::Record { offset, length });
            }
        }
        self.next_other()
    }

    /// The next item, which seldom is a whole record that stands by itself.
    fn next_other(&mut self) -> io::Result<Item> {
        let mut begun: Option<Begun> = None;
        loop {
            if let Some(length) = self.unpacker.next() {
                self.last = Last::Batch;
                return Ok(Item::Record {
                    offset: self.batch_offset,
                    length,
                });
            }
            let before = self.scanner.offset();
            let (offset, kind, payload) = match self.scanner.step()? {
                Step::Physical {
                    offset,
                    kind,
                    payload,
                } => (offset, kind, payload),
                Step::End { offset } => {
                    return Ok(match begun {
                        None => Item::End { offset },
                        Some(_) => out_of_order(offset, begun),
                    });
                }
                Step::Invalid { offset, reason } => {
                    return Ok(Item::Invalid {
                        offset,
                        cut: begun.map_or(offset, |begun| begun.offset),
                        reason,
                    });
                }
            };
            let fragment = self.scanner.payload(payload.clone());
            let (is_batch, place) = match (Part::of(kind), begun) {
                (Part::Of { is_batch, place }, _) => (is_batch, place),
                (_, Some(_)) => return Ok(out_of_order(offset, begun)),
                (part, None) => {
                    self.overhead_bytes += self.scanner.offset() - before;
                    match part {
                        Part::Header => {
                            return Ok(Item::Header {
                                offset,
                                header: SegmentHeader::decode(fragment),
                            });
                        }
                        Part::Mark => {
                            // A mark that vouches for the impossible vouches for nothing.
                            let synced_offset = mark::decode(fragment, offset).unwrap_or(0);
                            return Ok(Item::Mark { synced_offset });
                        }
                        _ => continue,
                    }
                }
            };
            let fits = match begun {
                None => matches!(place, Place::Whole | Place::Begin),
                Some(begun) => {
                    matches!(place, Place::Middle | Place::End) && begun.is_batch == is_batch
                }
            };
            if !fits {
                return Ok(out_of_order(offset, begun));
            }
            self.overhead_bytes += offset - before;
            let start = begun.map_or(offset, |begun| begun.offset);
            let length = begun.map_or(0, |begun| begun.length) + fragment.len();
            let ends = matches!(place, Place::Whole | Place::End);
            if place == Place::Begin {
                self.gathered.clear();
            }
            let fits = length <= PAYLOAD_BYTES_MAX;
            let kept = if is_batch { fits } else { self.gather };
            if place != Place::Whole && kept {
                self.gathered
                    .extend_from_slice(self.scanner.payload(payload.clone()));
            }
            if ends && is_batch {
                let payload = match place {
                    Place::Whole => self.scanner.payload(payload),
                    _ => &self.gathered,
                };
                let tally = if kept {
                    self.unpacker.unpack(payload)?
                } else {
                    None
                };
                let Some(tally) = tally else {
                    return Ok(Item::Invalid {
                        offset: start,
                        cut: start,
                        reason: Invalid::Batch,
                    });
                };
                self.tally += tally;
                self.batch_offset = start;
                continue;
            }
            if ends {
                self.last = match place {
                    Place::Whole => Last::Chunk(payload),
                    _ => Last::Gathered,
                };
                return Ok(Item::Record {
                    offset: start,
                    length,
                });
            }
            begun = Some(Begun {
                offset: start,
                length,
                is_batch,
            });
        }
    }
}

/// A part without its beginning, or a beginning without its end.
fn out_of_order(offset: u64, begun: Option<Begun>) -> Item {
    Item::Invalid {
        offset,
        cut: begun.map_or(offset, |begun| begun.offset),
        reason: Invalid::Fragment,
    }
}
