//! Changes, decided by all there is in a store and written only if nothing of what decided has
//! changed meanwhile: decisions without I/O, the same for every store.
use crate::cluster::{Claim, Cluster, Directory, claim};
use crate::dropped::Dropped;
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings, check_keyspace};
use crate::members::{self, Decision};
use crate::node::{NodeRecord, Registration, SHARDS_MAX};
use crate::objects::{
    CLUSTER, KEYSPACE_COUNTER, MEMBERS, NODE_COUNTER, Objects, Put, drop_key, encode, keyspace_key,
    node_key,
};
use crate::range::RangeRecord;
use crate::range_plan::{Load, new_ranges, plan_places};
use crate::recovery::{Recover, recover};
use crate::retarget::{Retarget, refusal};
use crate::topology::Topology;

/// What to write, and what to answer when it is written.
pub(crate) struct Step<T> {
    /// Keys of the objects that must be as they were read; the cluster's always is.
    pub guards: Vec<String>,
    /// What to write; nothing when all is as it should be.
    pub puts: Vec<Put>,
    pub value: T,
}

impl<T> Step<T> {
    /// All is as it should be.
    pub(crate) fn none(value: T) -> Self {
        Self {
            guards: Vec::new(),
            puts: Vec::new(),
            value,
        }
    }

    /// No change of the members begins meanwhile.
    pub(crate) fn guarded_by_members(mut self) -> Self {
        if !self.puts.is_empty() {
            self.guards.push(MEMBERS.to_owned());
        }
        self
    }
}

/// The greatest number of a node: entries have twelve bits for it.
const NODE_ID_MAX: u16 = (1 << 12) - 1;

/// The number after `last`.
pub(crate) fn next_node_id(last: u16) -> Result<u16, MetadataError> {
    last.checked_add(1)
        .filter(|next| *next <= NODE_ID_MAX)
        .ok_or(MetadataError::Exhausted { what: "node id" })
}

/// The number after `last`.
pub(crate) fn next_keyspace_id(last: u32) -> Result<u32, MetadataError> {
    // The greatest is reserved.
    let next = last.checked_add(1).filter(|next| *next != u32::MAX);
    next.ok_or(MetadataError::Exhausted {
        what: "keyspace id",
    })
}

/// The cluster that a data directory belongs to; `None` while its store waits for an id. A store
/// that gets its id from this directory gets `fresh`.
pub(crate) fn join_cluster(
    now: &Topology,
    directory: Directory<'_>,
    fresh: &Cluster,
) -> Result<Step<Option<Cluster>>, MetadataError> {
    match claim(directory, now)? {
        Claim::Belongs(cluster) => Ok(Step::none(Some(cluster))),
        Claim::Waits => Ok(Step::none(None)),
        Claim::Begins => Ok(Step {
            guards: vec![NODE_COUNTER.to_owned(), node_key(directory.name)],
            puts: vec![(CLUSTER.to_owned(), Some(encode(fresh)?))],
            value: Some(fresh.clone()),
        }),
    }
}

/// A new incarnation of a node; a name not seen before gets an id, and is a member if one is wanted.
pub(crate) fn register(
    now: &Topology,
    store: &Objects,
    node: Registration<'_>,
) -> Result<Step<NodeRecord>, MetadataError> {
    node.check()?;
    let key = node_key(node.name);
    let known = now.node_named(node.name);
    if known.is_none() && store.get(&key).is_some() {
        return Err(unreadable(&key));
    }
    check_room(now, node, known)?;
    let id = match known {
        Some(known) => known.id,
        None => next_node_id(now.counters.node)?,
    };
    let record = node.record(id, known)?;
    let mut step = Step {
        guards: vec![key.clone()],
        puts: vec![(key, Some(encode(&record)?))],
        value: record,
    };
    if known.is_none() {
        let members = members::join(now, id);
        step.guards
            .extend([NODE_COUNTER, MEMBERS].map(str::to_owned));
        step.puts
            .push((NODE_COUNTER.to_owned(), Some(encode(&id)?)));
        step.puts
            .push((MEMBERS.to_owned(), Some(encode(&members)?)));
    }
    Ok(step)
}

/// Each shard is connected to all others, and has room for so many. A node that was let in stays in.
fn check_room(
    now: &Topology,
    node: Registration<'_>,
    known: Option<&NodeRecord>,
) -> Result<(), MetadataError> {
    let others = now.nodes.iter().filter(|other| other.name != node.name);
    let others = others.fold(0, |sum: u16, other| sum.saturating_add(other.shards));
    if known.is_some_and(|known| node.shards <= known.shards)
        || others.saturating_add(node.shards) <= SHARDS_MAX
    {
        return Ok(());
    }
    Err(MetadataError::NoRoom {
        most: SHARDS_MAX,
        others,
        own: node.shards,
    })
}

/// Tells of a node that started without the store, under the incarnation that it has.
pub(crate) fn announce(
    now: &Topology,
    node: Registration<'_>,
    id: u16,
) -> Result<Step<NodeRecord>, MetadataError> {
    node.check()?;
    let known = now.node_named(node.name);
    let known = known.filter(|known| known.id == id);
    let known = known.ok_or_else(|| MetadataError::Foreign {
        name: node.name.to_owned(),
        id,
    })?;
    let record = NodeRecord {
        id,
        name: node.name.to_owned(),
        http: node.http.to_owned(),
        listen: node.listen.to_owned(),
        shards: node.shards,
        incarnation: node.at_least_incarnation,
    };
    if *known == record {
        return Ok(Step::none(record));
    }
    let key = node_key(node.name);
    if known.incarnation > record.incarnation {
        return Err(MetadataError::Superseded {
            name: record.name,
            own: record.incarnation,
            found: known.incarnation,
        });
    }
    Ok(Step {
        guards: vec![key.clone()],
        puts: vec![(key, Some(encode(&record)?))],
        value: record,
    })
}

/// A change of the members, or of what depends on who is one. Writes the members even if only a
/// node is forgotten: otherwise a change could begin at the same moment that names this node.
pub(crate) fn change_members<T>(
    now: &Topology,
    store: &Objects,
    decide: impl Fn(&Topology) -> Result<Decision<T>, MetadataError>,
) -> Result<Step<T>, MetadataError> {
    if let Some(Err(detail)) = store.read::<members::Members>(MEMBERS) {
        return Err(MetadataError::Damaged {
            place: format!("object {MEMBERS}"),
            detail,
        });
    }
    let decision = decide(now)?;
    if !decision.changes(now) {
        return Ok(Step::none(decision.value));
    }
    let mut puts = vec![(MEMBERS.to_owned(), Some(encode(&decision.members)?))];
    let forgotten = decision.forgotten.iter();
    puts.extend(forgotten.map(|name| (node_key(name), None)));
    Ok(Step {
        guards: vec![MEMBERS.to_owned()],
        puts,
        value: decision.value,
    })
}

/// A new keyspace, if none has its name. Its number is greater than `met`, the greatest that there
/// is data of: an older copy of the store would give it away again.
pub(crate) fn create_keyspace(
    now: &Topology,
    store: &Objects,
    name: &str,
    settings: &KeyspaceSettings,
    met: u32,
) -> Result<Step<Keyspace>, MetadataError> {
    check_keyspace(name, settings)?;
    let key = keyspace_key(name);
    if now.keyspace_named(name).is_some() {
        return Err(MetadataError::Exists {
            name: name.to_owned(),
        });
    }
    if store.get(&key).is_some() {
        return Err(unreadable(&key));
    }
    let id = next_keyspace_id(now.counters.keyspace.max(met))?;
    let mut keyspace = Keyspace::new(id, name, settings.clone());
    let mut guards = vec![key.clone(), KEYSPACE_COUNTER.to_owned()];
    if keyspace.is_transactional() {
        keyspace.ranges = new_ranges(now, name, settings)?;
        // No change begins meanwhile that takes one of them out.
        guards.push(MEMBERS.to_owned());
    }
    Ok(Step {
        guards,
        puts: vec![
            (key, Some(encode(&keyspace)?)),
            (KEYSPACE_COUNTER.to_owned(), Some(encode(&id)?)),
        ],
        value: keyspace,
    })
}

/// The keyspace of this name, made if there is none.
pub(crate) fn ensure_keyspace(
    now: &Topology,
    store: &Objects,
    name: &str,
    settings: &KeyspaceSettings,
) -> Result<Step<Keyspace>, MetadataError> {
    match now.keyspace_named(name) {
        Some(keyspace) => Ok(Step::none(keyspace.clone())),
        None => create_keyspace(now, store, name, settings, 0),
    }
}

/// Notes how wide writes to a keyspace are, and how wide all members know them to be.
pub(crate) fn widen_keyspace(
    now: &Topology,
    store: &Objects,
    name: &str,
    id: u32,
    widest: u8,
    known: u8,
) -> Result<Step<()>, MetadataError> {
    let key = keyspace_key(name);
    let keyspace = now.keyspace_named(name).filter(|k| k.id == id);
    let keyspace = keyspace.filter(|_| store.get(&key).is_some());
    let keyspace = keyspace.ok_or_else(|| MetadataError::NotFound {
        name: name.to_owned(),
    })?;
    let widened = keyspace.widened(widest, known);
    if widened == *keyspace {
        return Ok(Step::none(()));
    }
    Ok(Step {
        guards: vec![key.clone()],
        puts: vec![(key, Some(encode(&widened)?))],
        value: (),
    })
}

/// Makes of a keyspace's record what `alter` says.
pub(crate) fn alter_keyspace(
    now: &Topology,
    store: &Objects,
    name: &str,
    alter: impl Fn(&Keyspace) -> Result<Keyspace, MetadataError>,
) -> Result<Step<Keyspace>, MetadataError> {
    let key = keyspace_key(name);
    let keyspace = now.keyspace_named(name);
    let keyspace = keyspace.filter(|_| store.get(&key).is_some());
    let keyspace = keyspace.ok_or_else(|| MetadataError::NotFound {
        name: name.to_owned(),
    })?;
    altered(now, key, keyspace, alter(keyspace)?)
}

/// Writes the record of a keyspace as it is to be, where that differs.
fn altered(
    now: &Topology,
    key: String,
    before: &Keyspace,
    after: Keyspace,
) -> Result<Step<Keyspace>, MetadataError> {
    if after == *before {
        return Ok(Step::none(after));
    }
    Ok(Step {
        guards: vec![key],
        puts: vec![put_of(now, &after)?],
        value: after,
    })
}

/// The most keyspaces whose ranges get other targets at once: etcd takes 128 operations in a transaction.
const PLANNED_MAX: usize = 32;

/// A keyspace whose data there is, with the key of its record.
fn record_of(now: &Topology, id: u32) -> Option<(String, &Keyspace)> {
    let live = now.keyspace(id);
    let live = live.map(|keyspace| (keyspace_key(&keyspace.name), keyspace));
    live.or_else(|| {
        let dropped = now.dropped(id).filter(|dropped| !dropped.purged)?;
        Some((drop_key(id), &dropped.keyspace))
    })
}

/// The record of a keyspace, in use or dropped, as it is to be.
fn put_of(now: &Topology, keyspace: &Keyspace) -> Result<Put, MetadataError> {
    let id = keyspace.id;
    match now.dropped(id).filter(|_| now.keyspace(id).is_none()) {
        Some(dropped) => {
            let keyspace = keyspace.clone();
            let dropped = Dropped {
                keyspace,
                ..dropped.clone()
            };
            Ok((drop_key(id), Some(encode(&dropped)?)))
        }
        None => Ok((keyspace_key(&keyspace.name), Some(encode(keyspace)?))),
    }
}

/// Applies `alter` to the ranges of a keyspace; also of a dropped one, for that may be taken back.
pub(crate) fn alter_ranges(
    now: &Topology,
    store: &Objects,
    id: u32,
    alter: impl Fn(&RangeRecord) -> RangeRecord,
) -> Result<Step<Keyspace>, MetadataError> {
    let found = record_of(now, id).filter(|(key, _)| store.get(key).is_some());
    let (key, keyspace) = found.ok_or_else(|| MetadataError::NotFound {
        name: format!("number {id}"),
    })?;
    let mut after = keyspace.clone();
    after.ranges = keyspace.ranges.iter().map(alter).collect();
    altered(now, key, keyspace, after)
}

/// Gives ranges the targets that they should have, and says how many keyspaces get some.
pub(crate) fn plan_ranges(now: &Topology, store: &Objects) -> Result<Step<usize>, MetadataError> {
    let mut planned = plan_places(now);
    planned.retain(|keyspace| {
        record_of(now, keyspace.id).is_some_and(|(key, _)| store.get(&key).is_some())
    });
    planned.truncate(PLANNED_MAX);
    let puts: Result<Vec<Put>, MetadataError> =
        planned.iter().map(|next| put_of(now, next)).collect();
    let puts = puts?;
    let keys = puts.iter().map(|(key, _)| key.clone());
    Ok(Step {
        guards: keys.chain([MEMBERS.to_owned()]).collect(),
        value: puts.len(),
        puts,
    })
}

/// Gives a range the target that an operator wants, and answers with the number of that.
pub(crate) fn retarget_range(
    now: &Topology,
    store: &Objects,
    (name, number): (&str, u16),
    wish: &Retarget,
) -> Result<Step<u64>, MetadataError> {
    let key = keyspace_key(name);
    let keyspace = now.keyspace_named(name).filter(|k| k.is_transactional());
    let keyspace = keyspace.filter(|_| store.get(&key).is_some());
    let range = keyspace.and_then(|keyspace| Some((keyspace, keyspace.range(number)?)));
    let (keyspace, range) = range.ok_or_else(|| {
        refusal(
            name,
            number,
            "there is no such range: see dunlin range list",
        )
    })?;
    let load = Load::of(now);
    let next = wish
        .of(now, range, |node| load.least(&[node], &[]))
        .map_err(|why| refusal(name, number, why))?;
    let value = next.planned;
    let mut after = keyspace.clone();
    for range in &mut after.ranges {
        if range.number == number {
            *range = next.clone();
        }
    }
    // No change begins meanwhile that takes one of the nodes out.
    let step = altered(now, key, keyspace, after)?.guarded_by_members();
    Ok(Step {
        guards: step.guards,
        puts: step.puts,
        value,
    })
}

/// Has a range begin again with one replica, and answers with its keyspace.
pub(crate) fn recover_range(
    now: &Topology,
    store: &Objects,
    range: (&str, u16),
    by: &Recover,
) -> Result<Step<Keyspace>, MetadataError> {
    let (key, after) = recover(now, store, range, by)?;
    // No node that is gone comes back meanwhile.
    Ok(Step {
        guards: vec![key],
        puts: vec![put_of(now, &after)?],
        value: after,
    }
    .guarded_by_members())
}

/// Takes a keyspace's name from it, with a record from which it can be taken back. Works for one
/// that is only known here, too: so an operator agrees to its being gone.
pub(crate) fn drop_keyspace(
    now: &Topology,
    name: &str,
    dropped_ms: u64,
) -> Result<Step<()>, MetadataError> {
    let keyspace = now
        .keyspace_named(name)
        .ok_or_else(|| MetadataError::NotFound {
            name: name.to_owned(),
        })?;
    let (key, record) = (keyspace_key(name), drop_key(keyspace.id));
    let dropped = Dropped {
        keyspace: keyspace.clone(),
        dropped_ms,
        purged: false,
    };
    Ok(Step {
        guards: vec![key.clone(), record.clone()],
        puts: vec![(key, None), (record, Some(encode(&dropped)?))],
        value: (),
    })
}

/// Takes away a keyspace that was not made to its end: there is nothing in it.
pub(crate) fn abandon_keyspace(
    now: &Topology,
    name: &str,
    id: u32,
    dropped_ms: u64,
) -> Result<Step<bool>, MetadataError> {
    let keyspace = now.keyspace_named(name).filter(|k| k.id == id);
    let preparing = keyspace.filter(|k| k.ranges.iter().any(|range| !range.ready));
    let Some(keyspace) = preparing else {
        return Ok(Step::none(false));
    };
    let (key, record) = (keyspace_key(name), drop_key(id));
    let dropped = Dropped {
        keyspace: keyspace.clone(),
        dropped_ms,
        purged: true,
    };
    Ok(Step {
        guards: vec![key.clone(), record.clone()],
        puts: vec![(key, None), (record, Some(encode(&dropped)?))],
        value: true,
    })
}

/// Takes back the last drop of a keyspace of this name.
pub(crate) fn undrop_keyspace(
    now: &Topology,
    store: &Objects,
    name: &str,
) -> Result<Step<Keyspace>, MetadataError> {
    let key = keyspace_key(name);
    let all = now.dropped.iter().rev();
    let mut drops = all.filter(|dropped| dropped.keyspace.name == name);
    let last = drops.next().ok_or_else(|| MetadataError::NotDropped {
        name: name.to_owned(),
    })?;
    if last.purged {
        return Err(MetadataError::Purged {
            name: name.to_owned(),
        });
    }
    if now.keyspace_named(name).is_some() || store.get(&key).is_some() {
        return Err(MetadataError::NameTaken {
            name: name.to_owned(),
        });
    }
    let record = drop_key(last.keyspace.id);
    let back = Keyspace {
        undrops: last.keyspace.undrops.saturating_add(1),
        ..last.keyspace.clone()
    };
    Ok(Step {
        guards: vec![key.clone(), record.clone()],
        puts: vec![(key, Some(encode(&back)?)), (record, None)],
        value: back,
    })
}

/// Lets the data of a keyspace go whose drop was seen as `seen`; false when that was taken back.
pub(crate) fn purge_keyspace(now: &Topology, seen: &Dropped) -> Result<Step<bool>, MetadataError> {
    let id = seen.keyspace.id;
    let Some(dropped) = now.dropped(id) else {
        return Ok(Step::none(false));
    };
    if dropped.purged {
        return Ok(Step::none(true));
    }
    if dropped.dropped_ms != seen.dropped_ms {
        // Taken back and dropped again.
        return Ok(Step::none(false));
    }
    let key = drop_key(id);
    let purged = Dropped {
        purged: true,
        ..dropped.clone()
    };
    Ok(Step {
        guards: vec![key.clone()],
        puts: vec![(key, Some(encode(&purged)?))],
        value: true,
    })
}

fn unreadable(key: &str) -> MetadataError {
    MetadataError::Damaged {
        place: format!("object {key}"),
        detail: "it cannot be read; a newer version of dunlin may have written it".to_owned(),
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
