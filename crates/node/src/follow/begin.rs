//! Where a follower begins at a shard, of one partition. Pure; the table of all cases is in its tests.

use dunlin_entry::{Origin, Vector, Version};
use dunlin_log::Index;
use dunlin_proto::Within;

use super::{Mark, Serves};

/// How far a follower is with a partition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Past<'a> {
    /// It wants what comes from now on.
    Now,
    /// It has seen this much, nothing at the beginning; and all that this very log has up to a record,
    /// where that is known.
    Seen(&'a Vector, Option<Index>),
}

/// What a shard has of a partition.
pub(crate) struct Here<'a> {
    pub serves: Serves,
    /// First record of the log that is still there.
    pub first: Index,
    /// Last record that may be shown.
    pub last: Index,
    /// For each segment its first record, and what the vector was before it; ascending.
    pub segments: &'a [(Index, Vector)],
    /// What the vector is.
    pub vector: &'a Vector,
    /// The newest of each origin that came as copies and that the vector does not name.
    pub strays: &'a Vector,
    /// Deletes up to this stamp may be forgotten.
    pub forgotten: Version,
    /// Whether an origin may have written entries of the partition. Shards of one node do not name each
    /// other in their vectors: what no one could write there is looked for in none.
    pub writes: &'a dyn Fn(Origin) -> bool,
}

impl Here<'_> {
    /// Whether all that `other` names of the partition is named by `seen`.
    fn covers(&self, seen: &Vector, other: &Vector) -> bool {
        let mut named = other.iter();
        named.all(|(origin, version)| seen.get(origin) >= version || !(self.writes)(origin))
    }
}

/// Where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// In the log, at this record.
    Log(Index),
    /// With stored records, then behind those in the log.
    Backfill(Scope),
    /// At another replica: it is not here.
    Elsewhere,
    /// Here, but a moment later, or at another replica.
    Later,
}

/// What a backfill tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All there is, every delete since among it: what it does not name is as it was, but for values whose
    /// time is over.
    Delta,
    /// All there is: what it does not name is gone.
    Complete,
}

/// Where a follower begins that has come so far.
pub(crate) fn begin(past: Past<'_>, here: &Here<'_>) -> Start {
    let mark = match &here.serves {
        Serves::Away => return Start::Elsewhere,
        Serves::Open => return Start::Later,
        Serves::Behind(mark) => mark,
    };
    let (seen, at) = match past {
        Past::Now => return Start::Log(here.last + 1),
        Past::Seen(seen, at) => (seen, at),
    };
    if let Some(at) = at
        && at >= mark.index
        && at + 1 >= here.first
        && at <= here.last
    {
        return Start::Log(at + 1);
    }
    if let Some(index) = by_vector(seen, mark, here) {
        return Start::Log(index);
    }
    Start::Backfill(scope(seen, mark, here))
}

/// From which record on the log has what a snapshot lacks that is gone on with at a place within it, what the
/// snapshot then tells, and what will have been given with its end; `None` where it must be begun anew.
pub(crate) fn go_on(
    place: &Within,
    seen: &Vector,
    view: &Vector,
    here: &Here<'_>,
) -> Option<(Index, Scope, Vector)> {
    // Of keys before the place the one is given, of those behind it the other.
    let both = place.vector.iter();
    let both: Vector = both
        .map(|(origin, version)| (origin, version.min(view.get(origin))))
        .collect();
    let Start::Log(start) = begin(Past::Seen(&both, None), here) else {
        return None;
    };
    let scope = match place.is_complete {
        true => Scope::Complete,
        // Deletes that were still to come may be forgotten meanwhile.
        false if begin(Past::Seen(seen, None), here) == Start::Backfill(Scope::Complete) => {
            return None;
        }
        false => Scope::Delta,
    };
    Some((start, scope, both))
}

/// The record from which on the log has all that is behind a vector; `None` where it may lack some.
fn by_vector(seen: &Vector, mark: &Mark, here: &Here<'_>) -> Option<Index> {
    // A copy stands where it came, not where its origin's entries stand.
    if !here.covers(seen, here.strays) {
        return None;
    }
    let mut segments = here.segments.iter().rev();
    let segment = segments.find(|(_, before)| here.covers(seen, before));
    let segment = segment.map(|(first, _)| *first);
    if segment.is_some_and(|first| first > mark.index) {
        return segment;
    }
    let has_all = mark
        .needs
        .as_ref()
        .is_some_and(|needs| here.covers(seen, needs));
    (has_all && mark.index + 1 >= here.first).then_some(mark.index + 1)
}

/// Whether the deletes behind a vector are all still here.
fn scope(seen: &Vector, mark: &Mark, here: &Here<'_>) -> Scope {
    let Some(needs) = &mark.needs else {
        // What came in beside the log may have brought deletes that nothing here names.
        return Scope::Complete;
    };
    let mut written = here.vector.clone();
    written.merge(here.strays);
    written.merge(needs);
    let due: Vector = written
        .iter()
        .map(|(origin, version)| (origin, version.min(here.forgotten)))
        .collect();
    if !seen.is_empty() && here.covers(seen, &due) {
        Scope::Delta
    } else {
        Scope::Complete
    }
}

#[cfg(test)]
#[path = "begin_tests.rs"]
mod tests;
