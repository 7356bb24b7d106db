//! Clients that read and overwrite keys, and know what they must read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ledger::Ledger;
use crate::load::http::{Head, THREE_COPIES, Verb, Whole};
use crate::load::key::Choice;
use crate::load::protocol::{Malformed, Progress, Protocol, Verdict};

/// Half reads, half writes of any keys.
#[derive(Debug)]
pub struct Mixed {
    ledger: Ledger,
    choice: Choice,
    get: Head,
    put: Head,
    is_over: Arc<AtomicBool>,
}

/// What a connection waits for.
#[derive(Debug, Default)]
pub struct Asked {
    number: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Read { least: u32 },
    Write { write: u32 },
}

impl Default for Kind {
    fn default() -> Kind {
        Kind::Read { least: 0 }
    }
}

impl Mixed {
    /// Clients of the keys of a ledger, until `is_over`.
    pub fn new(ledger: Ledger, value_bytes: usize, seed: u64, is_over: Arc<AtomicBool>) -> Mixed {
        let choice = Choice::Any {
            // The lowest bit says whether to read or to write.
            count: ledger.count() * 2,
            state: seed,
        };
        Mixed {
            choice,
            get: Head::new(Verb::Get, THREE_COPIES, 0),
            put: Head::new(Verb::Put, THREE_COPIES, value_bytes),
            ledger,
            is_over,
        }
    }

    /// What the keys must hold by now.
    pub fn into_ledger(self) -> Ledger {
        self.ledger
    }
}

impl Protocol for Mixed {
    type Exchange = Asked;

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn request(&mut self, asked: &mut Asked, out: &mut Vec<u8>) -> bool {
        if self.is_over() {
            return false;
        }
        let Some(drawn) = self.choice.advance() else {
            return false;
        };
        asked.number = drawn / 2;
        let key = self.ledger.key(asked.number);
        let write = match drawn % 2 {
            0 => None,
            // A key that is just being written is read instead.
            _ => self.ledger.begin_write(asked.number),
        };
        match write {
            Some(write) => {
                asked.kind = Kind::Write { write };
                self.put.append(&key, out);
                self.ledger.append(asked.number, write, out);
            }
            None => {
                asked.kind = Kind::Read {
                    least: self.ledger.acknowledged(asked.number),
                };
                self.get.append(&key, out);
            }
        }
        true
    }

    fn response(
        &mut self,
        asked: &mut Asked,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(whole) = Whole::read(input)? else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let verdict = match (&asked.kind, whole.status) {
            (Kind::Write { write }, status) => {
                self.ledger.end_write(asked.number, *write, status == 201);
                match status {
                    201 => Verdict::Expected,
                    status => Verdict::Status(status),
                }
            }
            (Kind::Read { least }, 200) => {
                if self.ledger.may_be(asked.number, *least, whole.body) {
                    Verdict::Expected
                } else {
                    Verdict::WrongBody
                }
            }
            (Kind::Read { .. }, status) => Verdict::Status(status),
        };
        Ok(Progress::Complete {
            consumed: whole.consumed,
            verdict,
        })
    }
}

/// Reads of a number of keys, to see that they hold what they must.
#[derive(Debug)]
pub struct ReadBack<'a> {
    ledger: &'a Ledger,
    choice: Choice,
    left: u64,
    get: Head,
}

impl ReadBack<'_> {
    /// Reads `count` of a ledger's keys: all of them if there are no more, else any.
    pub fn new(ledger: &Ledger, count: u64) -> ReadBack<'_> {
        let choice = if count < ledger.count() {
            Choice::Any {
                count: ledger.count(),
                state: count,
            }
        } else {
            Choice::Each {
                next: 0,
                end: ledger.count(),
            }
        };
        ReadBack {
            ledger,
            choice,
            left: count.min(ledger.count()),
            get: Head::new(Verb::Get, THREE_COPIES, 0),
        }
    }
}

impl Protocol for ReadBack<'_> {
    /// The number of the key.
    type Exchange = u64;

    fn request(&mut self, number: &mut u64, out: &mut Vec<u8>) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        let Some(drawn) = self.choice.advance() else {
            return false;
        };
        self.left = left;
        *number = drawn;
        self.get.append(&self.ledger.key(drawn), out);
        true
    }

    fn response(
        &mut self,
        number: &mut u64,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let Some(whole) = Whole::read(input)? else {
            return Ok(Progress::Incomplete { consumed: 0 });
        };
        let least = self.ledger.acknowledged(*number);
        let verdict = match whole.status {
            200 if self.ledger.may_be(*number, least, whole.body) => Verdict::Expected,
            200 => Verdict::WrongBody,
            status => Verdict::Status(status),
        };
        Ok(Progress::Complete {
            consumed: whole.consumed,
            verdict,
        })
    }
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
