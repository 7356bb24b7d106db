//! What the end of a log had lately, for all who follow it there. Pure.

use std::collections::VecDeque;
use std::rc::Rc;

use dunlin_log::Index;
use dunlin_proto::Token;

use crate::change::Change;

/// Bytes of entries that are kept; their lines are kept with them.
const RING_BYTES: usize = 1 << 20;

/// What was read at a time.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The last record of the log that was read for it.
    pub last: Index,
    pub changes: Vec<Rc<Change>>,
    /// Where it goes on behind it.
    pub token: Rc<Token>,
    bytes: usize,
}

/// What there is at a place in the ring.
#[derive(Debug)]
pub(crate) enum Got {
    Chunk(Rc<Chunk>),
    /// Nothing yet; the log has been read up to where this token goes on.
    End(Rc<Token>),
    /// It is gone.
    Lost,
}

/// The chunks.
#[derive(Debug)]
pub(crate) struct Ring {
    chunks: VecDeque<Rc<Chunk>>,
    /// Number of the first of them; the numbers go on.
    first: u64,
    bytes: usize,
    /// All up to this record of the log stands before the first.
    before: Index,
    token: Rc<Token>,
}

impl Ring {
    /// Of a log that is read from behind this record on.
    pub fn new(before: Index, token: Rc<Token>) -> Ring {
        Ring {
            chunks: VecDeque::new(),
            first: 0,
            bytes: 0,
            before,
            token,
        }
    }

    /// The log has been read up to a record, with these changes; whether places in the ring were lost.
    pub fn push(&mut self, last: Index, changes: Vec<Rc<Change>>, token: Rc<Token>) -> bool {
        self.token = token.clone();
        if changes.is_empty() {
            return false;
        }
        let bytes = changes.iter().map(|change| change.bytes()).sum();
        self.bytes += bytes;
        self.chunks.push_back(Rc::new(Chunk {
            last,
            changes,
            token,
            bytes,
        }));
        let first = self.first;
        while self.bytes > RING_BYTES && self.chunks.len() > 1 {
            let Some(gone) = self.chunks.pop_front() else {
                break;
            };
            self.bytes -= gone.bytes;
            self.before = gone.last;
            self.first += 1;
        }
        self.first > first
    }

    /// The place of who has read the log up to a record: of the first chunk with anything behind that.
    pub fn find(&self, index: Index) -> Option<u64> {
        if index < self.before {
            return None;
        }
        let read = self.chunks.partition_point(|chunk| chunk.last <= index);
        Some(self.first + read as u64)
    }

    /// What there is at a place.
    pub fn get(&self, place: u64) -> Got {
        let Some(at) = place.checked_sub(self.first) else {
            return Got::Lost;
        };
        let chunk = usize::try_from(at).ok().and_then(|at| self.chunks.get(at));
        match chunk {
            Some(chunk) => Got::Chunk(chunk.clone()),
            None => Got::End(self.token.clone()),
        }
    }

    /// The place behind the last chunk.
    pub fn end(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    /// Whether a place is gone.
    pub fn is_lost(&self, place: u64) -> bool {
        place < self.first
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
