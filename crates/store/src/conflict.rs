//! Conflict: who wins a key. Pure, so that replicas cannot but agree.

use dunlin_entry::Rank;

/// What to do with an offered entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is newer than anything held: write it.
    Write,
    /// It is the very entry that is held.
    Held,
    /// Something newer is held: leave it.
    Lost { newer: Rank },
}

/// Judges an entry against what is held for its key. The greater rank wins; an equal one is the
/// same entry come again.
pub(crate) fn judge(held: Option<Rank>, offered: Rank) -> Verdict {
    match held {
        None => Verdict::Write,
        Some(held) if held < offered => Verdict::Write,
        Some(held) if held == offered => Verdict::Held,
        Some(newer) => Verdict::Lost { newer },
    }
}

#[cfg(test)]
#[path = "conflict_tests.rs"]
mod tests;
