//! What is kept of a shard's log for who committed up to a token, and may read on at any time.

use dunlin_log::Index;
use dunlin_proto::{Place, Token};
use tokio::time::Instant;

use super::follower::{is_put_back, still_at};
use super::{Class, Followers, Here, Holder, Past, Start, begin};
use crate::replication::address_of;
use crate::shard::vector_of;

/// Who holds what is kept, of one keyspace or of all.
fn holder(name: &str, keyspace: Option<u32>) -> Holder {
    Holder {
        class: Class::Cursor,
        keyspace,
        name: name.to_owned(),
    }
}

/// From where on a shard's log is kept for somebody, as long as the log is divided as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pinned {
    from: Index,
    /// First record of the newest segment then.
    segment: Index,
    /// Changes of the coverage then.
    changes: u64,
}

impl Followers {
    /// Keeps all there is of the log for a while, or until that is let go.
    pub fn keep_all(&self, name: &str) {
        let (shard, holder) = (&self.shard, holder(name, None));
        shard.pins().hold(holder, shard.log_first(), Instant::now());
    }

    /// Lets go of what was kept so.
    pub fn let_go(&self, name: &str) {
        self.shard.pins().end_of(&holder(name, None));
    }

    /// Whether this shard's log misses records that were on disk when the token was given: its directory was put back to an
    /// earlier state.
    pub fn is_put_back(&self, token: &Token) -> bool {
        is_put_back(&self.shard, token)
    }

    /// Renews a pin; whether it is still the right one.
    pub fn keep_on(&self, name: &str, keyspace: u32, pinned: Pinned) -> bool {
        let shard = &self.shard;
        let is_same = pinned == self.pinned(pinned.from);
        if is_same {
            let holder = holder(name, Some(keyspace));
            shard.pins().hold(holder, pinned.from, Instant::now());
        }
        is_same
    }

    fn pinned(&self, from: Index) -> Pinned {
        let segments = self.shard.segments();
        Pinned {
            from,
            segment: segments.last().map_or(0, |segment| segment.first_index),
            changes: self.shard.coverage().changes(),
        }
    }

    /// Keeps what is still to be read of the log from a token on, for as long as that is said again; from where on.
    pub fn keep(&self, name: &str, token: &Token) -> Option<Pinned> {
        let shard = &self.shard;
        let holder = holder(name, Some(token.keyspace));
        let placement = shard.placement();
        let Some(placed) = placement.keyspace(token.keyspace) else {
            shard.pins().end_of(&holder);
            return None;
        };
        let before = |s: &dunlin_log::SegmentInfo| Some((s.first_index, vector_of(&s.preamble)?));
        let segments: Vec<_> = shard.segments().iter().filter_map(before).collect();
        let (vector, strays) = (shard.vector(), shard.stray_copies());
        let mut least = None;
        for partition in 0..placed.partition_count() {
            let replicas = placed.replicas(partition, placed.keyspace.settings.replicas);
            if !replicas.contains(&shard.address()) {
                continue;
            }
            let writes = |origin| placed.may_write(address_of(origin), partition);
            let place = Place {
                keyspace: token.keyspace,
                partition,
            };
            let here = Here {
                serves: shard.coverage().of(place),
                first: shard.log_first(),
                last: shard.log_last(),
                segments: &segments,
                vector: &vector,
                strays: &strays,
                forgotten: shard.forgotten(token.keyspace),
                writes: &writes,
            };
            // Within a snapshot, what is behind the view; at the beginning a snapshot does as well as the log.
            let within = token.within(partition).map(|within| &within.vector);
            let Some(seen) = within.or(token.vector(partition)) else {
                continue;
            };
            if seen.is_empty() {
                continue;
            }
            let hint = token.hint(shard.address(), &[partition]);
            let at = hint.and_then(|hint| still_at(shard, hint));
            if let Start::Log(index) = begin(Past::Seen(seen, at), &here) {
                least = Some(least.unwrap_or(index).min(index));
            }
        }
        match least {
            Some(index) => shard.pins().hold(holder, index, Instant::now()),
            None => shard.pins().end_of(&holder),
        }
        least.map(|from| self.pinned(from))
    }
}
