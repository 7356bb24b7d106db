//! The checker of histories: known ones, ones a real register made, and all small ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod append;
mod brute;
mod known;
mod lines;
mod register;
mod speed;

use dunlin_history::{Kind, Limits, Operation, Outcome, Report, check};

/// An operation on the key `k`, which ended well.
fn ok(kind: Kind, invoked: u64, returned: u64) -> Operation {
    operation(kind, invoked, Outcome::Ok { returned })
}

/// One with an open end.
fn unknown(kind: Kind, invoked: u64) -> Operation {
    operation(kind, invoked, Outcome::Unknown { until: None })
}

fn operation(kind: Kind, invoked: u64, outcome: Outcome) -> Operation {
    Operation {
        process: invoked,
        key: "k".to_owned(),
        kind,
        invoked,
        outcome,
        note: String::new(),
    }
}

fn judge(operations: &[Operation]) -> Report {
    check(operations, Limits::default())
}

/// A few bits of chance from a seed (xorshift*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}
