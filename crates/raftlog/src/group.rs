//! One group's log in memory, and what a record makes of it. Pure.

use std::collections::VecDeque;

use raft::eraftpb::Entry;

use crate::record::{Record, Vote};

/// Bytes of applied entries that a group keeps in memory for followers that lag.
pub const TAIL_BYTES: usize = 8 << 20;

/// A place in a group's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Index of the entry.
    pub index: u64,
    /// Its term.
    pub term: u64,
}

/// A group's term, vote and entries.
#[derive(Debug, Clone, Default)]
pub struct GroupLog {
    vote: Vote,
    /// The entry before the first.
    before: Position,
    /// Up to which entry a majority has them, as far as was written.
    commit: u64,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Whether it has begun: what stands in the log before a beginning is a rest.
    has_begun: bool,
    /// Whether entries are missing between others, or terms go back: no leader has ever written that.
    is_broken: bool,
}

impl GroupLog {
    /// Takes over a record that has just been written, or is read at recovery.
    pub fn take(&mut self, record: Record) {
        if let Some(begin) = record.begin {
            self.before = begin;
            self.commit = begin.index;
            self.entries.clear();
            self.bytes = 0;
            self.has_begun = true;
            self.is_broken = false;
        }
        if let Some(vote) = record.vote {
            self.vote = vote;
        }
        if self.has_begun {
            self.append(record.entries);
            self.commit = self.commit.max(record.commit.unwrap_or(0));
            self.is_broken |= self.commit > self.last().index;
        }
    }

    /// A deliberate bug, for the simulation to find: entries of a higher index than those of the record stay.
    pub(crate) fn take_keeping_higher(&mut self, record: Record) {
        let above = record.entries.last().map_or(u64::MAX, |last| last.index);
        let mut kept = self.entries.clone();
        kept.retain(|entry| entry.index > above && record.begin.is_none());
        self.take(record);
        kept.into_iter().for_each(|entry| self.push(entry));
    }

    fn append(&mut self, mut entries: Vec<Entry>) {
        // What is older than the beginning is committed, and the same.
        entries.retain(|entry| entry.index > self.before.index);
        let Some(at) = entries.first().map(|first| first.index) else {
            return;
        };
        // Of another leader's entries those of a higher index go as well.
        while self.entries.back().is_some_and(|last| last.index >= at) {
            if let Some(gone) = self.entries.pop_back() {
                self.bytes -= gone.data.len();
            }
        }
        self.is_broken |= at > self.last().index + 1;
        entries.into_iter().for_each(|entry| self.push(entry));
    }

    fn push(&mut self, entry: Entry) {
        self.is_broken |= entry.term < self.last().term;
        self.bytes += entry.data.len();
        self.entries.push_back(entry);
    }

    /// Whether anything is known of it.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether entries are missing between others, or terms go back: it cannot be gone by.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Term and vote.
    pub fn vote(&self) -> Vote {
        self.vote
    }

    /// Up to which entry a majority has them, as far as was written.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// A deliberate bug, for the simulation to find: a start does not know what a majority has.
    pub fn forget_commit(&mut self) {
        self.commit = self.before.index;
    }

    /// The entry before the first that is kept.
    pub fn before(&self) -> Position {
        self.before
    }

    /// Index of the first entry that is kept; one more than the last where none is.
    pub fn first_index(&self) -> u64 {
        self.before.index + 1
    }

    /// The last entry.
    pub fn last(&self) -> Position {
        self.entries.back().map_or(self.before, |last| Position {
            index: last.index,
            term: last.term,
        })
    }

    /// Bytes that its entries hold.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the entries behind an index.
    pub fn bytes_behind(&self, index: u64) -> usize {
        let newest = self.entries.iter().rev();
        let behind = newest.take_while(|entry| entry.index > index);
        behind.map(|entry| entry.data.len()).sum()
    }

    /// The term of an entry; none where it is not kept.
    pub fn term(&self, index: u64) -> Option<u64> {
        if index == self.before.index {
            return Some(self.before.term);
        }
        Some(self.entry(index)?.term)
    }

    fn entry(&self, index: u64) -> Option<&Entry> {
        let at = index.checked_sub(self.first_index())?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// Entries from `low` to before `high`; at least one, and no more than `max_bytes` of data else.
    pub fn entries(&self, low: u64, high: u64, max_bytes: u64) -> Vec<Entry> {
        let mut bytes = 0;
        let all = (low..high).map_while(|index| self.entry(index));
        let fitting = all.take_while(|entry| {
            bytes += entry.data.len() as u64 + 16;
            bytes <= max_bytes || entry.index == low
        });
        fitting.cloned().collect()
    }

    /// Forgets the oldest entries up to `applied` that are more than `keep_bytes`.
    pub fn trim(&mut self, applied: u64, keep_bytes: usize) {
        while self.bytes > keep_bytes {
            let Some(first) = self.entries.front().filter(|first| first.index <= applied) else {
                return;
            };
            self.before = Position {
                index: first.index,
                term: first.term,
            };
            self.bytes -= first.data.len();
            self.entries.pop_front();
        }
    }

    /// The record that says all of it that is not in the store: it was applied and flushed up to `applied`. None where
    /// what follows that is not kept.
    pub fn rewritten(&self, group: u64, applied: Position) -> Option<Record> {
        let is_kept = self.before.index <= applied.index && applied.index <= self.last().index;
        is_kept.then(|| Record {
            group,
            begin: Some(applied),
            vote: Some(self.vote),
            commit: Some(self.commit.max(applied.index)),
            entries: self.entries(applied.index + 1, self.last().index + 1, u64::MAX),
        })
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
