//! A record held by a shard of uncertain past, beside what another replica holds for its key. Pure.

use dunlin_entry::Rank;

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The other's record is to be taken.
    Take,
    /// What is here stays.
    Keep,
    /// It was deleted, and the delete forgotten.
    Forget,
}

/// How much the other's "I hold nothing for this key" says of the record here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// Its past is certain.
    pub is_whole: bool,
    /// Its vector names the record here.
    pub has_seen: bool,
    /// A record with this `from` is kept by it: one that only takes the partition over, while the
    /// members change, may have seen an entry that was not yet meant for it.
    pub is_meant: bool,
}

/// Judges one key. `ours` and `theirs` are what is held, tombstones too.
pub(super) fn reconcile(ours: Option<Rank>, theirs: Option<Rank>, word: Word) -> Verdict {
    match (ours, theirs) {
        (None, Some(_)) => Verdict::Take,
        (Some(ours), Some(theirs)) if ours < theirs => Verdict::Take,
        (Some(_), Some(_)) | (None, None) => Verdict::Keep,
        (Some(_), None) => {
            let knows = word.is_whole && word.has_seen && word.is_meant;
            if knows {
                Verdict::Forget
            } else {
                // It never saw it, or cannot say: it is to get it.
                Verdict::Keep
            }
        }
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
