//! How connections that others opened went.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How one went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It proved the secret.
    Proven,
    /// It proved none, and needed none.
    Plain,
    /// It proved none, and was refused.
    Unproven,
    /// Its proof was wrong.
    Wrong,
    /// It sent something else, or nothing in time.
    Strange,
    /// It gave way to others before it had said who it is.
    Crowded,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 6] = [
        Outcome::Proven,
        Outcome::Plain,
        Outcome::Unproven,
        Outcome::Wrong,
        Outcome::Strange,
        Outcome::Crowded,
    ];

    /// Its name in `/metrics`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Proven => "proven",
            Outcome::Plain => "plain",
            Outcome::Unproven => "unproven",
            Outcome::Wrong => "wrong",
            Outcome::Strange => "strange",
            Outcome::Crowded => "crowded",
        }
    }
}

/// How many went how, since the start.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; Outcome::ALL.len()]);

impl Counts {
    /// One more.
    pub fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Relaxed);
    }

    /// How many so far.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].load(Relaxed)
    }
}
