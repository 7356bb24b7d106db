//! Whose turn it is to use a hot key. Pure.
//!
//! A lock is advice: transactions that wait for their turn do not conflict with each other, and nothing relies on it. A
//! lock has a number, by which it ends; else it ends after a second.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use dunlin_entry::Version;

/// A lock lasts so long, in milliseconds.
pub(crate) const LOCK_MS: u64 = 1_000;
/// Locks and waiters of a range.
const NUMBERS_MAX: usize = 1_024;

/// The locks of a range, in its leader's memory.
#[derive(Debug, Clone)]
pub struct Locks {
    queues: BTreeMap<Bytes, Queue>,
    /// The key of each number.
    keys: BTreeMap<u64, Bytes>,
    /// The number of the lock under which a timestamp was given.
    numbers: BTreeMap<Version, u64>,
    last: u64,
}

#[derive(Debug, Clone)]
struct Queue {
    /// The number with the lock.
    holder: u64,
    /// When the lock ends by itself, in milliseconds of the leader's own.
    until_ms: u64,
    /// The timestamp that was given under it.
    at: Option<Version>,
    waiting: VecDeque<u64>,
}

/// Whether a number has its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It has.
    Now,
    /// Another has, for so many milliseconds at most.
    Later(u64),
    /// The number has ended.
    Never,
}

impl Locks {
    /// Those of a leader; numbers are above this, which grows from leader to leader.
    pub fn new(above: u64) -> Locks {
        Locks {
            queues: BTreeMap::new(),
            keys: BTreeMap::new(),
            numbers: BTreeMap::new(),
            last: above,
        }
    }

    /// Whether a key has a lock.
    pub(crate) fn has_queue(&self, key: &Bytes) -> bool {
        self.queues.contains_key(key)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.keys.len() - self.queues.len()
    }

    /// A number in the queue of a key; none where there are too many.
    pub fn add(&mut self, key: &Bytes, now_ms: u64) -> Option<u64> {
        if self.keys.len() >= NUMBERS_MAX {
            self.end_old(now_ms);
        }
        if self.keys.len() >= NUMBERS_MAX {
            return None;
        }
        self.last += 1;
        let number = self.last;
        // A copy: the key may be a part of something large.
        let key = Bytes::copy_from_slice(key);
        self.keys.insert(number, key.clone());
        match self.queues.get_mut(&key) {
            Some(queue) => queue.waiting.push_back(number),
            None => drop(self.queues.insert(key, Queue::held_by(number, now_ms))),
        }
        Some(number)
    }

    /// Whether it is this number's turn. A lock whose time is over goes to the next.
    pub fn turn(&mut self, number: u64, now_ms: u64) -> Turn {
        loop {
            let key = self.keys.get(&number);
            let Some(queue) = key.and_then(|key| self.queues.get(key)) else {
                return Turn::Never;
            };
            if queue.holder == number {
                return Turn::Now;
            }
            if queue.until_ms > now_ms {
                return Turn::Later(queue.until_ms - now_ms);
            }
            self.end(queue.holder, now_ms);
        }
    }

    /// A timestamp is given under a lock, and nobody else has it: the commit at it ends the lock.
    pub(crate) fn give(&mut self, number: u64, at: Version) {
        let key = self.keys.get(&number);
        let queue = key.and_then(|key| self.queues.get_mut(key));
        if let Some(queue) = queue.filter(|queue| queue.holder == number) {
            queue.at = Some(at);
            self.numbers.insert(at, number);
        }
    }

    /// The lock ends under which a timestamp was given. Returns the new number with the lock, if there is one.
    pub(crate) fn end_given(&mut self, at: Version, now_ms: u64) -> Option<u64> {
        let number = *self.numbers.get(&at)?;
        self.end(number, now_ms)
    }

    /// A number ends, as a lock or as a waiter. Returns the new number with the lock, if there is one.
    pub fn end(&mut self, number: u64, now_ms: u64) -> Option<u64> {
        let key = self.keys.remove(&number)?;
        let queue = self.queues.get_mut(&key)?;
        if queue.holder != number {
            queue.waiting.retain(|waiting| *waiting != number);
            return None;
        }
        if let Some(at) = queue.at.take() {
            self.numbers.remove(&at);
        }
        let next = queue.waiting.pop_front();
        match next {
            Some(next) => {
                queue.holder = next;
                queue.until_ms = now_ms + LOCK_MS;
            }
            None => drop(self.queues.remove(&key)),
        }
        next
    }

    /// Ends locks without waiters whose time is over.
    fn end_old(&mut self, now_ms: u64) {
        let is_old = |queue: &&Queue| queue.waiting.is_empty() && queue.until_ms <= now_ms;
        let old: Vec<u64> = (self.queues.values().filter(is_old))
            .map(|queue| queue.holder)
            .collect();
        for number in old {
            self.end(number, now_ms);
        }
    }
}

impl Queue {
    fn held_by(number: u64, now_ms: u64) -> Queue {
        Queue {
            holder: number,
            until_ms: now_ms + LOCK_MS,
            at: None,
            waiting: VecDeque::new(),
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
