//! What happened between a token and its use, as far as a follower could lose something by it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::AddAssign;

use dunlin_entry::{Origin, Version};
use dunlin_node::{Happened, Services};
use dunlin_proto::{ShardAddress, Token};

use crate::harness::host::Shared;

/// Tokens that were used, all of them, and by what had happened since each was given. One may count several
/// times.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// Used to go on.
    pub all: u64,
    /// At another shard than where they were given.
    pub elsewhere: u64,
    /// The replicas of a partition of theirs are others.
    pub moved: u64,
    /// Records came in beside a log.
    pub ingested: u64,
    /// Deletes written since may be forgotten, which could not be then.
    pub purged: u64,
    /// Earlier starts were sealed.
    pub sealed: u64,
    /// A node was started again.
    pub restarted: u64,
    /// A node was lost for good.
    pub buried: u64,
}

impl AddAssign for Resumed {
    fn add_assign(&mut self, other: Resumed) {
        self.all += other.all;
        self.elsewhere += other.elsewhere;
        self.moved += other.moved;
        self.ingested += other.ingested;
        self.purged += other.purged;
        self.sealed += other.sealed;
        self.restarted += other.restarted;
        self.buried += other.buried;
    }
}

/// A shard, and a keyspace there.
type At = (ShardAddress, u32);

/// When something last happened, in milliseconds since the beginning of the run.
#[derive(Debug, Default, Clone, Copy)]
struct Last {
    restarted_ms: u64,
    ingested_ms: u64,
    sealed_ms: u64,
}

/// What has happened at all shards.
#[derive(Debug, Default)]
pub struct Happenings {
    known: RefCell<BTreeMap<At, (Happened, Last)>>,
}

/// Where and when a token was given.
#[derive(Debug, Clone)]
pub struct Given {
    shard: ShardAddress,
    at_ms: u64,
    is_buried: bool,
    forgotten: Version,
    replicas: Vec<Vec<ShardAddress>>,
}

impl Happenings {
    /// Looks at a shard.
    pub fn look(&self, services: &Services, keyspace: u32, now_ms: u64) {
        let shard = services.shard();
        let now = shard.happened(keyspace);
        let mut known = self.known.borrow_mut();
        let (before, last) = known
            .entry((shard.address(), keyspace))
            .or_insert_with(|| (now, Last::default()));
        let is_restarted = now.incarnation != before.incarnation;
        if is_restarted {
            last.restarted_ms = now_ms;
        }
        let ingested_before = if is_restarted { 0 } else { before.ingested };
        if now.ingested > ingested_before {
            last.ingested_ms = now_ms;
        }
        if now.sealed > before.sealed {
            last.sealed_ms = now_ms;
        }
        *before = now;
    }

    /// A token of these partitions is given.
    pub fn give(
        &self,
        shared: &Shared,
        services: &Services,
        keyspace: u32,
        partitions: &[u16],
    ) -> Given {
        let shard = services.shard();
        Given {
            shard: shard.address(),
            at_ms: shared.time.elapsed_ms(),
            is_buried: shared.buried.get().is_some(),
            forgotten: shard.happened(keyspace).forgotten,
            replicas: replicas(shared, keyspace, partitions),
        }
    }

    /// What had happened when a token was used.
    pub fn since(
        &self,
        given: &Given,
        token: &Token,
        shared: &Shared,
        services: &Services,
        keyspace: u32,
        partitions: &[u16],
    ) -> Resumed {
        self.look(services, keyspace, shared.time.elapsed_ms());
        let here = services.shard().address();
        let known = self.known.borrow();
        let last = |shard| known.get(&(shard, keyspace)).map(|(_, last)| *last);
        let is_since = |what: fn(&Last) -> u64| {
            let mut both = [here, given.shard].into_iter().filter_map(last);
            u64::from(both.any(|last| what(&last) > given.at_ms))
        };
        let seen = |origin: Origin| !origin.is_seal();
        let vectors = token.vectors().flat_map(|(_, vector)| vector.iter());
        let newest = vectors.filter(|(origin, _)| seen(*origin)).map(|(_, v)| v);
        let newest = newest.max().unwrap_or_default();
        let forgotten = services.shard().happened(keyspace).forgotten;
        let is_moved = replicas(shared, keyspace, partitions) != given.replicas;
        let is_buried = shared.buried.get().is_some() && !given.is_buried;
        Resumed {
            all: 1,
            elsewhere: (here != given.shard).into(),
            moved: is_moved.into(),
            ingested: is_since(|last| last.ingested_ms),
            purged: (forgotten > newest && given.forgotten <= newest).into(),
            sealed: is_since(|last| last.sealed_ms),
            restarted: is_since(|last| last.restarted_ms),
            buried: is_buried.into(),
        }
    }
}

/// Who is read of each partition, by the metadata store.
fn replicas(shared: &Shared, keyspace: u32, partitions: &[u16]) -> Vec<Vec<ShardAddress>> {
    let topology = shared.metadata.topology().borrow().clone();
    let placement = dunlin_node::Placement::compute(&topology);
    let placed = placement.keyspace(keyspace);
    let of = |partition: &u16| {
        placed.map_or(Vec::new(), |k| {
            let replicas = k.keyspace.settings.replicas;
            k.replicas(*partition, replicas).to_vec()
        })
    };
    partitions.iter().map(of).collect()
}
