//! Whole, torn or damaged: what one file by itself allows to say.

/// What is wrong with a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Whole,
    /// Its end: a write that never finished, as a crash leaves it. Nothing whole follows.
    Torn,
    /// Something before its end: whole records follow.
    Damaged,
}

impl Verdict {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Whole => "whole",
            Verdict::Torn => "torn",
            Verdict::Damaged => "damaged",
        }
    }
}
