//! What another shard may bring into this one's log. Pure.
//!
//! Frames have checksums, but who made them may have a defect, or be no shard at all. What is in the
//! log stays there: an entry that the store or the next start cannot take would end this node for good.

use dunlin_entry::{Entry, Kind, Origin};

use super::Shard;
use crate::limits::KEY_BYTES;

/// Why an entry from elsewhere is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Nonsense {
    #[error("an entry that is neither a put nor a delete: only a shard's own log holds such")]
    Kind,
    #[error("an entry of the reserved keyspace number {}", u32::MAX)]
    Keyspace,
    #[error("an entry with a key of {0} bytes: the longest has {KEY_BYTES}")]
    Key(usize),
    #[error("an entry of {found} among those of {batch}")]
    Origin { batch: Origin, found: Origin },
    #[error("an entry that cluster {found} has logged, in the log of cluster {own}")]
    Cluster { own: u16, found: u16 },
}

/// Whether an entry from elsewhere may be logged. `batch` is whose entries it came with, where they
/// are to be of one origin; `cluster` is this shard's.
pub(super) fn admit(entry: &Entry, batch: Option<Origin>, cluster: u16) -> Result<(), Nonsense> {
    if !matches!(entry.kind, Kind::Put | Kind::Delete) {
        return Err(Nonsense::Kind);
    }
    if entry.keyspace == u32::MAX {
        return Err(Nonsense::Keyspace);
    }
    if entry.key.len() > KEY_BYTES {
        return Err(Nonsense::Key(entry.key.len()));
    }
    let found = entry.position().origin;
    if found.cluster() != cluster {
        // A version and origin of another cluster were taken for a position.
        let (own, found) = (cluster, found.cluster());
        return Err(Nonsense::Cluster { own, found });
    }
    match batch {
        // The log alone tells the vector after a restart, and goes by the entry's origin.
        Some(batch) if batch != found => Err(Nonsense::Origin { batch, found }),
        _ => Ok(()),
    }
}

impl Shard {
    /// Refuses entries from elsewhere of which one makes no sense, and counts that.
    pub(crate) fn admit<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Entry>,
        batch: Option<Origin>,
    ) -> Result<(), Nonsense> {
        let cluster = self.origin.cluster();
        let mut entries = entries.into_iter();
        let admitted = entries.try_for_each(|entry| admit(entry, batch, cluster));
        admitted.inspect_err(|nonsense| self.count_nonsense(nonsense))
    }

    pub(super) fn count_nonsense(&self, nonsense: &Nonsense) {
        let counter = &self.counters.refused_entries;
        if counter.replace(counter.get() + 1) == 0 {
            tracing::error!(
                %nonsense,
                "refused: what another shard sent makes no sense; further ones are only counted"
            );
        }
    }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
