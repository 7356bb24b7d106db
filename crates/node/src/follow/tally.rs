//! How often followers began in a log, and how often with stored records.

/// How partitions were gone on with, each time that was decided.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// In the very log that was read before, where that was left.
    pub log_again: u64,
    /// In the log, by what had been seen.
    pub log: u64,
    /// With stored records, deletes among them.
    pub delta: u64,
    /// With stored records, all else to be forgotten.
    pub complete: u64,
}

impl Begun {
    /// Adds others.
    pub fn add(&mut self, other: Begun) {
        self.log_again += other.log_again;
        self.log += other.log;
        self.delta += other.delta;
        self.complete += other.complete;
    }
}
