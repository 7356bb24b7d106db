//! Whose turn it is to be read for: one at a time, in turns of a quantum of bytes. Pure.
//!
//! Whoever is of a higher rank goes first, and the first of a rank. So that nobody waits for ever, a rank
//! that others have passed by [`SHARE`] quanta has one turn; but never two turns in a row go to ranks below
//! one that waits. So a class delays one above by one quantum at most, for each turn of that one.

use std::collections::VecDeque;

use super::class::{Class, RANKS};

/// The most that is read in one turn, in bytes, and one record.
pub(crate) const QUANTUM_BYTES: usize = 4 << 20;
/// A rank that waits has one quantum for so many of those above.
const SHARE: usize = 8;

/// Who asked for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    rank: usize,
    number: u64,
}

/// Who is read for, and who waits.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    asked: u64,
    waiting: [VecDeque<u64>; RANKS],
    running: Option<Ticket>,
    /// The rank that had the last turn, if one above it waited then.
    last_below: Option<usize>,
    /// Bytes that were read for those above, while one of this rank waited.
    passed_bytes: [usize; RANKS],
}

impl Turns {
    /// Asks for a turn.
    pub fn ask(&mut self, class: Class) -> Ticket {
        self.asked += 1;
        let (rank, number) = (class.rank(), self.asked);
        if let Some(waiting) = self.waiting.get_mut(rank) {
            waiting.push_back(number);
        }
        Ticket { rank, number }
    }

    /// Whose turn it is, if anybody's.
    fn next(&self) -> Option<Ticket> {
        if self.running.is_some() {
            return None;
        }
        let heads = self.waiting.iter().enumerate();
        let mut heads = heads.filter_map(|(rank, waiting)| {
            let number = *waiting.front()?;
            Some(Ticket { rank, number })
        });
        let first = heads.next()?;
        // The one above that waits has waited for one turn below already.
        if self.last_below.is_some_and(|below| below > first.rank) {
            return Some(first);
        }
        let due = |ticket: &Ticket| {
            let passed = self.passed_bytes.get(ticket.rank);
            passed.is_some_and(|bytes| *bytes >= SHARE * QUANTUM_BYTES)
        };
        Some(heads.find(due).unwrap_or(first))
    }

    /// Begins a turn, if it is this one's.
    pub fn begin(&mut self, ticket: Ticket) -> bool {
        if self.next() != Some(ticket) {
            return false;
        }
        self.remove(ticket);
        let is_before = |rank: usize| self.waiting.iter().take(rank).any(|w| !w.is_empty());
        self.last_below = is_before(ticket.rank).then_some(ticket.rank);
        if let Some(passed) = self.passed_bytes.get_mut(ticket.rank) {
            *passed = 0;
        }
        self.running = Some(ticket);
        true
    }

    /// Ends a turn in which so many bytes were read, or gives up the wait for one.
    pub fn end(&mut self, ticket: Ticket, bytes: usize) {
        if self.running != Some(ticket) {
            self.remove(ticket);
            return;
        }
        self.running = None;
        let ranks = self.passed_bytes.iter_mut().zip(&self.waiting).enumerate();
        for (rank, (passed, waiting)) in ranks {
            if waiting.is_empty() {
                *passed = 0;
            } else if rank > ticket.rank {
                *passed = passed.saturating_add(bytes);
            }
        }
    }

    fn remove(&mut self, ticket: Ticket) {
        if let Some(waiting) = self.waiting.get_mut(ticket.rank) {
            waiting.retain(|number| *number != ticket.number);
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
