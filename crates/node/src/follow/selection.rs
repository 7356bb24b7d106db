//! Which records of a log a follower wants. Pure.

use bytes::Bytes;
use dunlin_entry::{Entry, EntryView, Kind, Origin, Position, Vector, Version};

/// What is kept of a read is copied out where it is less than one part in so many: records from a
/// segment are slices of what was read with them, up to 256 KiB, and would hold all of it.
const SPARSE: usize = 8;

/// What a follower wants. `W` tells of a keyspace, a partition and a `from` whether it wants what
/// carries them.
pub(crate) struct Selection<W> {
    /// Entries that this one logged first, and that stand behind this in its log; `None` of all.
    pub of: Option<(Origin, Version)>,
    /// Copies, too: what came without its place in its origin's log.
    pub copies: bool,
    /// Keys that begin with this.
    pub prefix: Bytes,
    pub wants: W,
}

/// What a record is to a follower.
pub(crate) enum Met<'r> {
    /// Nothing.
    Other,
    /// A change of the origin asked for, or any where none is, that it does not want: it has come
    /// further all the same.
    Passed(EntryView<'r>),
    /// What it wants.
    Wanted(EntryView<'r>),
}

impl<W: Fn(u32, u16, u8) -> bool> Selection<W> {
    /// What is logged first by `origin` behind `after`, without copies.
    pub fn of(origin: Origin, after: Version, wants: W) -> Selection<W> {
        Selection {
            of: Some((origin, after)),
            copies: false,
            prefix: Bytes::new(),
            wants,
        }
    }

    /// All changes, copies too.
    pub fn all(wants: W) -> Selection<W> {
        Selection {
            of: None,
            copies: true,
            prefix: Bytes::new(),
            wants,
        }
    }

    /// What a record of a log is to the follower.
    pub fn look<'r>(&self, record: &'r [u8]) -> Met<'r> {
        let Ok(view) = EntryView::new(record) else {
            return Met::Other;
        };
        let is_change = matches!(view.kind(), Kind::Put | Kind::Delete);
        if !is_change || view.copy() && !self.copies {
            return Met::Other;
        }
        if let Some((origin, after)) = self.of {
            let position = view.position();
            if position.origin != origin || position.sequence <= after {
                return Met::Other;
            }
        }
        let is_wanted = view.key().starts_with(&self.prefix)
            && (self.wants)(view.keyspace(), view.partition(), view.from());
        if is_wanted {
            Met::Wanted(view)
        } else {
            Met::Passed(view)
        }
    }
}

/// Whether who has seen so much of a partition has not been given this record of a log, as far as its place
/// tells. What a copy keeps of an older stamp than the place it was logged at, the end of a value or what was
/// mended, says nothing of who has it.
pub(crate) fn is_news(view: &EntryView<'_>, seen: &Vector) -> bool {
    let is_older = view.is_expiry() || view.replaces().is_some();
    is_news_at(view.position(), view.copy() && is_older, seen)
}

/// The same of an entry, also of a stored record, which is a copy with its version as its place.
pub fn is_news_entry(entry: &Entry, seen: &Vector) -> bool {
    let is_older = entry.is_expiry || entry.replaces.is_some();
    is_news_at(entry.position(), entry.copy && is_older, seen)
}

/// The same of a place in a log; and whether what stands there is a copy that keeps a stamp older than its place.
fn is_news_at(position: Position, is_older_copy: bool, seen: &Vector) -> bool {
    is_older_copy || position.sequence > seen.get(position.origin)
}

/// What is kept of one read of a log.
#[derive(Default)]
pub(crate) struct Hits {
    kept: Vec<Bytes>,
    kept_bytes: usize,
    read_bytes: usize,
}

impl Hits {
    /// For a read of so many records.
    pub fn with_capacity(records: usize) -> Hits {
        Hits {
            kept: Vec::with_capacity(records),
            ..Hits::default()
        }
    }

    /// A record was read with the others.
    pub fn read(&mut self, record: &Bytes) {
        self.read_bytes += record.len();
    }

    /// It is kept.
    pub fn keep(&mut self, record: &Bytes) {
        self.kept_bytes += record.len();
        self.kept.push(record.clone());
    }

    /// Bytes of what is kept.
    pub fn bytes(&self) -> usize {
        self.kept_bytes
    }

    /// What is kept; it holds no more memory than a few times its own.
    pub fn into_entries(self) -> Vec<Bytes> {
        if self.kept_bytes.saturating_mul(SPARSE) < self.read_bytes {
            self.kept
                .iter()
                .map(|e| Bytes::copy_from_slice(e))
                .collect()
        } else {
            self.kept
        }
    }
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
