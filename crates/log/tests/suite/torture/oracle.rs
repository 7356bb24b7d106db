//! What must come of a log of which one file was changed.

use super::layout::{Piece, Place, Segment};
use dunlin_log::Index;
use std::ops::RangeInclusive;

/// What must happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// All records up to an index, and what is reported cut.
    Recovered { last: Index, torn: Option<Torn> },
    /// Opening is refused.
    Damaged {
        file: String,
        /// Where the first thing that is no longer valid was; between what precedes it and it
        /// itself is only padding.
        offset: RangeInclusive<usize>,
    },
}

/// A cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    pub file: String,
    pub offset: usize,
    pub segments_removed: usize,
}

/// An intact log, oldest segment first.
pub struct Oracle {
    pub segments: Vec<Segment>,
}

pub fn name(number: u64) -> String {
    format!("{number:020}.log")
}

impl Oracle {
    pub fn last(&self) -> Index {
        let last = self.segments.last().unwrap();
        last.first_index + last.records.len() as u64 - 1
    }

    fn untouched(&self) -> Fate {
        Fate::Recovered {
            last: self.last(),
            torn: None,
        }
    }

    /// Whether later segments prove that all of segment `at` had been synced.
    pub fn later_proof(&self, at: usize) -> bool {
        self.segments[at + 1..].iter().any(|later| {
            later.previous_synced || later.pieces.iter().any(|piece| piece.vouches > 0)
        })
    }

    /// A piece of segment `at` is not there, or what precedes it does not lead to it. `seen` tells
    /// which marks are still there.
    pub fn lost(
        &self,
        at: usize,
        hit: &Piece,
        offset: RangeInclusive<usize>,
        seen: impl Fn(&Piece) -> bool,
    ) -> Fate {
        let segment = &self.segments[at];
        let file = name(segment.number);
        let proven = segment.pieces.iter().any(|mark| {
            mark.bytes.start > hit.bytes.start && mark.vouches > hit.begin && seen(mark)
        });
        // Older segments are released only once the next one's preamble is synced.
        let released = at == 0 && segment.number != 1 && segment.is_beginning(hit);
        if proven || released || self.later_proof(at) {
            return Fate::Damaged { file, offset };
        }
        // Without its preamble a segment was never begun.
        let kept = usize::from(!segment.is_beginning(hit));
        Fate::Recovered {
            last: hit.index - 1,
            torn: Some(Torn {
                file,
                offset: segment.whole_before(hit),
                segments_removed: self.segments.len() - at - kept,
            }),
        }
    }

    /// One bit of a byte is another.
    pub fn flipped(&self, at: usize, offset: usize) -> Fate {
        let segment = &self.segments[at];
        let hit = segment
            .pieces
            .iter()
            .find(|piece| piece.bytes.contains(&offset));
        if let Some(hit) = hit {
            let start = hit.bytes.start;
            return self.lost(at, hit, start..=start, |mark| mark.bytes.start != start);
        }
        // What would be the next header: it no longer says that nothing has been written. Of other
        // padding, of the rest of such a header, and behind the length that the next segment gives,
        // nothing is looked at.
        let next = segment.next_header();
        if at + 1 == self.segments.len() && (next..next + 7).contains(&offset) {
            return Fate::Recovered {
                last: self.last(),
                torn: Some(Torn {
                    file: name(segment.number),
                    offset: segment.end,
                    segments_removed: 0,
                }),
            };
        }
        self.untouched()
    }

    /// The file ends at an offset.
    pub fn cut(&self, at: usize, length: usize) -> Fate {
        let segment = &self.segments[at];
        let hit = segment
            .pieces
            .iter()
            .position(|piece| piece.bytes.end > length);
        let Some(position) = hit else {
            return self.untouched();
        };
        let hit = &segment.pieces[position];
        // The beginning of a checksum may be zero, too.
        let begun = hit.bytes.start.min(length);
        let nothing = segment.bytes[begun..length].iter().all(|&byte| byte == 0);
        if nothing && self.looks_like_the_end(at, hit) {
            return Fate::Recovered {
                last: hit.index - 1,
                torn: None,
            };
        }
        let offset = segment.valid_before(hit)..=hit.bytes.start;
        self.lost(at, hit, offset, |mark| mark.bytes.end <= length)
    }

    /// Whether the log may end before this piece, if nothing is to be seen of it and what follows:
    /// then nobody can tell that more was written. Padding tells it.
    fn looks_like_the_end(&self, at: usize, piece: &Piece) -> bool {
        let segment = &self.segments[at];
        let begins = piece.begin == piece.bytes.start;
        let padded = segment
            .pieces
            .iter()
            .take_while(|other| other.bytes.start < piece.bytes.start)
            .last()
            .is_some_and(|other| other.place == Place::Pad);
        let last = at + 1 == self.segments.len();
        last && begins && !padded && !segment.is_beginning(piece)
    }

    /// Bytes are zero that were not; none when all of them were.
    pub fn hole(&self, at: usize, from: usize, to: usize) -> Option<Fate> {
        let segment = &self.segments[at];
        let hit = segment.pieces.iter().find(|piece| {
            let (start, end) = (piece.bytes.start.max(from), piece.bytes.end.min(to));
            start < end && segment.bytes[start..end].iter().any(|&byte| byte != 0)
        })?;
        let start = hit.bytes.start;
        let is_there = |piece: &Piece| piece.bytes.end <= from || piece.bytes.start >= to;
        let cleared =
            (start..start + 7).all(|byte| segment.bytes[byte] == 0 || (from..to).contains(&byte));
        let mut behind = segment
            .pieces
            .iter()
            .filter(|piece| piece.bytes.start > start);
        if cleared && !behind.any(is_there) && self.looks_like_the_end(at, hit) {
            return Some(Fate::Recovered {
                last: hit.index - 1,
                torn: None,
            });
        }
        Some(self.lost(at, hit, segment.valid_before(hit)..=start, is_there))
    }
}
