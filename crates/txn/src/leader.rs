//! What the leader of a range must remember, and refuses by it before it proposes. Pure.
//!
//! A read at a timestamp has been answered for good: nothing may be written to its keys at or below it later. The next
//! leader knows nothing of what was read here; it takes all keys for read at a timestamp that the oracle gave it after it
//! began to lead, above all that stands in the log. So a leader lets nothing be read above what does: an entry, its lease,
//! says up to where it may (`lease`). Then it need not know whether another leads meanwhile: whatever that one writes is
//! written above, and is not seen at this timestamp anywhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_proto::Condition;

use crate::cache::Cache;
use crate::command::{Command, Write};
use crate::queue::Locks;
use crate::request::Blocker;
use crate::state::Verdict;

/// Keys and boundaries in each half of the cache, of all ranges of a shard together.
const CACHE_ENTRIES: usize = 1 << 17;
/// Of each at least.
const CACHE_ENTRIES_MIN: usize = 1 << 10;

/// A lease is so long, in milliseconds. When a leader is lost, timestamps run ahead of the clock by what is left of it.
const LEASE_MS: u64 = 1_000;

/// The version of a key once all proposed entries are applied, as far as a leader can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// This version, of a value or of a delete.
    Version(Version, Option<Bytes>),
    /// It depends on the entry with this index.
    Unknown(u64),
}

/// A key of entries that are proposed and not applied.
#[derive(Debug, Clone)]
struct Latch {
    /// Index of the last.
    index: u64,
    expected: Expected,
}

#[derive(Debug, Clone)]
struct Scan {
    number: u64,
    at: Version,
    start: Bytes,
    end: Option<Bytes>,
}

/// What a leader remembers for as long as it leads.
#[derive(Debug, Clone)]
pub struct Leader {
    cache: Cache,
    /// Keys of entries that are proposed and not applied.
    latched: BTreeMap<Bytes, Latch>,
    /// The same in the order of the log.
    proposed: VecDeque<(u64, Bytes)>,
    /// Scans that are under way: all that they may come to read counts as read.
    scans: Vec<Scan>,
    /// The lease that was to be followed by another when this was last asked for.
    renewed: Version,
    /// Transactions with intents, and since when this leader has seen them, in milliseconds of its own.
    seen: BTreeMap<Version, u64>,
    /// Locks of hot keys.
    pub locks: Locks,
}

impl Leader {
    /// One that begins now, with a timestamp given to it since then, and one of so many at a shard.
    pub fn new(floor: Version, ranges: usize) -> Leader {
        let entries = (CACHE_ENTRIES / ranges.max(1)).max(CACHE_ENTRIES_MIN);
        Leader {
            cache: Cache::new(floor, entries),
            latched: BTreeMap::new(),
            proposed: VecDeque::new(),
            scans: Vec::new(),
            renewed: Version(0),
            seen: BTreeMap::new(),
            locks: Locks::new(floor.0),
        }
    }

    /// For how long this leader has seen intents of a transaction, in milliseconds: no other clock than its own says when
    /// they have stood for too long.
    pub fn seen_for_ms(&mut self, txn: Version, now_ms: u64) -> u64 {
        let since_ms = *self.seen.entry(txn).or_insert(now_ms);
        now_ms.saturating_sub(since_ms)
    }

    /// Forgets transactions of which no intents are left.
    pub fn keep_seen(&mut self, present: &BTreeSet<Version>) {
        self.seen.retain(|txn, _| present.contains(txn));
    }

    /// Up to where a read at this timestamp is to have a lease made before it goes on, where this is how far one goes: if
    /// that is not far enough; or, of all reads, one when half of it is over.
    pub fn lease(&mut self, until: Version, at: Version) -> Option<Version> {
        let is_short = at.plus_ms(LEASE_MS / 2) > until && self.renewed != until;
        if at <= until && !is_short {
            return None;
        }
        self.renewed = until;
        Some(at.plus_ms(LEASE_MS))
    }

    /// A scan reads keys from `start` to before `end` at a timestamp, in order, until `end_scan`. Returns the index that
    /// must be applied before, if there is one: the last that was proposed for one of these keys. No other scan of this
    /// process may have the same `number`.
    pub fn begin_scan(
        &mut self,
        number: u64,
        at: Version,
        start: &Bytes,
        end: Option<&Bytes>,
    ) -> Option<u64> {
        self.scans.push(Scan {
            number,
            at,
            start: start.clone(),
            end: end.cloned(),
        });
        if end.is_some_and(|end| end <= start) {
            return None;
        }
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let within = self
            .latched
            .range::<Bytes, _>((Bound::Included(start), end));
        within.map(|(_, latch)| latch.index).max()
    }

    /// The scan of this number ends. It has read the keys before `next`, or all of them. A scan that began under an earlier
    /// leader is not known here, and nothing is noted of it.
    pub fn end_scan(&mut self, number: u64, next: Option<&Bytes>) {
        let position = self.scans.iter().position(|scan| scan.number == number);
        if let Some(position) = position {
            let scan = self.scans.swap_remove(position);
            let end = next.or(scan.end.as_ref());
            self.cache.note_range(scan.at, &scan.start, end);
        }
    }

    /// The same with one key, at once.
    pub fn read_key(&mut self, at: Version, key: &Bytes) -> Option<u64> {
        self.cache.note(at, key);
        self.latched.get(key).map(|latch| latch.index)
    }

    /// The version of a key once all proposed entries are applied; none where none of them writes it.
    pub(crate) fn expected(&self, key: &Bytes) -> Option<Expected> {
        self.latched.get(key).map(|latch| latch.expected.clone())
    }

    /// Whether an entry may be proposed.
    ///
    /// # Errors
    /// `Newer` where one of its keys was read or written later.
    pub fn may_propose(&self, command: &Command) -> Result<(), Blocker> {
        let Some((at, _, writes)) = command.at_keys() else {
            return Ok(());
        };
        for Write { key, .. } in writes {
            let is_in =
                |scan: &&Scan| scan.start <= *key && scan.end.as_ref().is_none_or(|end| key < end);
            let scans = self.scans.iter().filter(is_in);
            let scanned = scans.map(|scan| scan.at).max().unwrap_or_default();
            let read = self.cache.get_above(at, key).max(scanned);
            // A transaction reads and writes at one timestamp.
            if read > at {
                let key = key.clone();
                return Err(Blocker::Newer { key, at: read });
            }
        }
        Ok(())
    }

    /// An entry is proposed, and has this index.
    pub fn proposed(&mut self, command: &Command, index: u64) {
        if is_unconditional(command) {
            return self.proposed_expected(command, index);
        }
        self.proposed_as(command, index, |_| Expected::Unknown(index));
    }

    /// The same with an entry that is expected to have its effect.
    pub fn proposed_expected(&mut self, command: &Command, index: u64) {
        let at = command.at_keys().map_or(Version(0), |(at, _, _)| at);
        self.proposed_as(command, index, |write| {
            Expected::Version(at, write.value.clone())
        });
    }

    fn proposed_as(
        &mut self,
        command: &Command,
        index: u64,
        expected: impl Fn(&Write) -> Expected,
    ) {
        let Some((at, checks, writes)) = command.at_keys() else {
            return;
        };
        for write in writes {
            let (key, expected) = (&write.key, expected(write));
            self.cache.note(at, key);
            self.latched.insert(key.clone(), Latch { index, expected });
            self.proposed.push_back((index, key.clone()));
        }
        // What is checked is read.
        for check in checks {
            self.cache.note(at, &check.key);
        }
    }

    /// A transaction in one range is proposed to commit at the timestamp that it was given under a lock: the lock ends, for
    /// later reads wait for the commit. Where other ranges have intents of it, these would be in the way of the next. Returns
    /// the number that has the lock next, if there is one.
    pub fn end_lock(&mut self, command: &Command, now_ms: u64) -> Option<u64> {
        match command {
            Command::Commit {
                txn, participants, ..
            } if participants.is_empty() => self.locks.end_given(*txn, now_ms),
            _ => None,
        }
    }

    /// An entry is applied, with this outcome. Where an entry that may have been expected has no effect, nothing is expected
    /// any more: entries behind it may rely on it.
    pub fn ended(&mut self, command: &Command, outcome: &Verdict) {
        let may_be_expected =
            is_unconditional(command) || matches!(command, Command::Commit { .. });
        if !may_be_expected || matches!(outcome, Verdict::Committed | Verdict::Done) {
            return;
        }
        for latch in self.latched.values_mut() {
            latch.expected = Expected::Unknown(latch.index);
        }
    }

    /// All entries up to this index are applied.
    pub fn applied(&mut self, index: u64) {
        while let Some((first, key)) = self.proposed.front() {
            if *first > index {
                return;
            }
            if self.latched.get(key).map(|latch| latch.index) == Some(*first) {
                self.latched.remove(key);
            }
            self.proposed.pop_front();
        }
    }
}

/// Whether an entry writes a key whatever it has.
fn is_unconditional(command: &Command) -> bool {
    let none = Condition::None;
    matches!(command, Command::Write { condition, .. } if *condition == none)
}

#[cfg(test)]
#[path = "leader_tests.rs"]
mod tests;
