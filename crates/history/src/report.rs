//! The verdict, for people.

use std::fmt;

use crate::{Moment, Operation};

/// What a history was found to be.
#[derive(Debug, Default)]
#[must_use]
pub struct Report {
    /// How many keys it has.
    pub keys: usize,
    /// How many operations.
    pub operations: usize,
    /// How many configurations were looked at.
    pub states: u64,
    /// Keys that no register can explain.
    pub violations: Vec<Violation>,
    /// Keys for which the limit was reached: they may be fine, or not.
    pub undecided: Vec<String>,
}

/// A key that no register can explain.
#[derive(Debug)]
pub struct Violation {
    /// Which.
    pub key: String,
    /// Up to here already.
    pub until: Moment,
    /// How many of its operations had begun by then.
    pub prefix: usize,
    /// How many it has in all.
    pub operations: usize,
    /// A few of these that cannot be by themselves, by their beginnings.
    pub proof: Vec<Operation>,
    /// Writes beside them.
    pub around: Vec<Operation>,
}

impl Report {
    /// Whether every key was decided, and linearizable.
    pub fn is_linearizable(&self) -> bool {
        self.violations.is_empty() && self.undecided.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        for key in &self.undecided {
            writeln!(f, "key {key}: undecided, the limit of states was reached")?;
        }
        let Report {
            keys, operations, ..
        } = self;
        write!(f, "{operations} operations on {keys} keys: ")?;
        match (self.violations.len(), self.undecided.len()) {
            (0, 0) => write!(f, "linearizable"),
            (0, undecided) => write!(f, "{undecided} keys undecided"),
            (bad, 0) => write!(f, "NOT linearizable, in {bad} keys"),
            (bad, undecided) => {
                write!(f, "NOT linearizable, in {bad} keys; {undecided} undecided")
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { key, until, .. } = self;
        writeln!(f, "key {key}: NOT linearizable up to moment {until}")?;
        writeln!(
            f,
            "  of {} operations begun by then ({} in all), these cannot be by themselves:",
            self.prefix, self.operations
        )?;
        for operation in &self.proof {
            writeln!(f, "  {operation}")?;
        }
        if !self.around.is_empty() {
            writeln!(f, "  other writes before that moment, the latest:")?;
        }
        for operation in &self.around {
            writeln!(f, "  {operation}")?;
        }
        Ok(())
    }
}
