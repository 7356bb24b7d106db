//! After healing: replicas are equal, and there are no copies too many.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Origin;
use dunlin_node::{KeyspacePlacement, Placement, Shard};
use dunlin_proto::ShardAddress;
use dunlin_store::Versioned;

use super::Broken;
use crate::harness::cluster::Cluster;
use crate::history::{Place, key_name};

type Held = BTreeMap<ShardAddress, Versioned>;

fn broken(text: String, place: Option<Place>) -> Broken {
    Broken {
        text,
        place,
        at: None,
    }
}

/// Checks the stores and vectors of all running nodes against one another.
///
/// # Errors
/// The first difference. While nodes still catch up there may be some; they must go.
pub fn converged(cluster: &Cluster) -> Result<(), Broken> {
    let mut shards = Vec::new();
    for host in &cluster.hosts {
        if cluster.shared.buried.get() == Some(host.number()) {
            continue;
        }
        let live = host.live();
        if live.is_empty() {
            return Err(broken(format!("{} is not up", host.name), None));
        }
        shards.extend(live);
    }
    for shard in &shards {
        if let Some(trouble) = shard.trouble() {
            return Err(broken(format!("{}: {trouble}", shard.label()), None));
        }
    }
    let topology = cluster.shared.metadata.topology().borrow().clone();
    if let Some(change) = &topology.members.change {
        let mut text = format!("the members are still changing, in phase {}", change.phase);
        let services = cluster.hosts.iter().flat_map(|host| host.services());
        for state in services.map(|services| services.move_state()) {
            text += &format!(
                "; {}: change {}, phase {:?}, {} of {} parts, filled {}, caught up {}, level {}",
                state.shard,
                state.change,
                state.phase,
                state.parts_done,
                state.parts,
                state.filled,
                state.caught_up,
                state.level
            );
        }
        for shard in &shards {
            if let Some(refill) = shard.status().refill {
                let waits_for = refill.waits_for.join(", ");
                text += &format!(
                    "; {} is being filled and waits for {waits_for}",
                    shard.label()
                );
            }
        }
        return Err(broken(text, None));
    }
    let placement = Placement::compute(&topology);
    vectors_equal(&placement, &shards)?;
    vectors_small(&placement, &shards)?;
    for (number, id) in cluster.shared.keyspaces.iter().enumerate() {
        if let Some(placed) = placement.keyspace(*id) {
            for key in 0..cluster.shared.plan.keys {
                key_equal(cluster, &shards, placed, (number, key))?;
            }
        }
    }
    Ok(())
}

fn address_of(origin: Origin) -> ShardAddress {
    ShardAddress {
        node: origin.node(),
        shard: origin.shard(),
    }
}

fn vectors_equal(placement: &Placement, shards: &[Rc<Shard>]) -> Result<(), Broken> {
    for a in shards {
        let of_beside = |origin: &Origin| address_of(*origin).is_beside(a.address());
        if let Some(origin) = a.vector().iter().map(|(o, _)| o).find(of_beside) {
            let text = format!("{} has origin {origin}, of its own node", a.label());
            return Err(broken(text, None));
        }
        for b in shards {
            if !placement.share(a.address(), b.address()) {
                continue;
            }
            let mine = a.vector();
            for (origin, version) in b.vector().iter() {
                let writer = address_of(origin);
                // Of one that writes nothing to it, `b` may name what a refill gave it beside that, and
                // the writer has lost since.
                let concerns = placement.vouches(a.address(), writer)
                    && placement.vouches(b.address(), writer);
                if concerns && mine.get(origin) < version {
                    let text = format!(
                        "{} has origin {origin} up to {} but {} up to {version}",
                        a.label(),
                        mine.get(origin),
                        b.label(),
                    );
                    return Err(broken(text, None));
                }
            }
        }
    }
    Ok(())
}

/// What was written before the last start of each shard is sealed by it and by all who share partitions
/// with it.
fn vectors_small(placement: &Placement, shards: &[Rc<Shard>]) -> Result<(), Broken> {
    for writer in shards {
        let incarnation = writer.origin().incarnation();
        let shares = |shard: &&Rc<Shard>| placement.share(shard.address(), writer.address());
        // One that shares nothing has nobody to hear.
        let is_alone = !shards.iter().any(|shard| shares(&shard));
        let holders = shards.iter().filter(shares);
        for shard in holders.chain((!is_alone).then_some(writer)) {
            let open = shard.vector();
            let of_writer = |origin: &Origin| address_of(*origin) == writer.address();
            let mut open = open.unsealed().map(|(origin, _)| origin).filter(of_writer);
            if let Some(origin) = open.find(|origin| origin.incarnation() < incarnation) {
                let text = format!(
                    "{} has not sealed origin {origin} of {}, which is at start {incarnation}",
                    shard.label(),
                    writer.label(),
                );
                return Err(broken(text, None));
            }
        }
    }
    Ok(())
}

fn key_equal(
    cluster: &Cluster,
    shards: &[Rc<Shard>],
    placed: &KeyspacePlacement,
    place: Place,
) -> Result<(), Broken> {
    let name = key_name(place.1);
    let partition = placed.partition_of(&name);
    let mut held = Held::new();
    for shard in shards {
        if let Some(record) = record_of(shard, placed.keyspace.id, partition, &name)? {
            held.insert(shard.address(), record);
        }
    }
    no_copies_too_many(placed, partition, &held, place)?;
    let newest = held.values().max_by_key(|record| record.rank());
    let Some(newest) = newest else { return Ok(()) };
    for address in placed.replicas(partition, newest.from) {
        let equal = match held.get(address) {
            Some(record) => without_place(record) == without_place(newest),
            // Where the delete has been forgotten already.
            None => newest.tombstone && cluster.shared.plan.forgets_deletes(place.0),
        };
        if !equal {
            let text = format!(
                "replicas differ: {address} holds {}, another {}",
                told(held.get(address)),
                told(Some(newest))
            );
            return Err(broken(text, Some(place)));
        }
    }
    Ok(())
}

/// A record but for its place in a log: two replicas may have logged the end of one value.
fn without_place(record: &Versioned) -> Versioned {
    Versioned {
        logged: None,
        ..record.clone()
    }
}

/// What each running shard holds for a key, for people.
pub fn held_now(cluster: &Cluster, place: Place) -> String {
    let topology = cluster.shared.metadata.topology().borrow().clone();
    let placement = Placement::compute(&topology);
    let id = cluster.shared.keyspaces.get(place.0).copied();
    let Some(placed) = id.and_then(|id| placement.keyspace(id)) else {
        return String::new();
    };
    let name = key_name(place.1);
    let partition = placed.partition_of(&name);
    let mut text = format!("replicas {:?}", placed.order(partition));
    for shard in cluster.hosts.iter().flat_map(|host| host.live()) {
        let record = record_of(&shard, placed.keyspace.id, partition, &name);
        let record = record.unwrap_or_default();
        text += &format!("; {} holds {}", shard.label(), told(record.as_ref()));
    }
    text
}

pub(super) fn record_of(
    shard: &Shard,
    keyspace: u32,
    partition: u16,
    name: &Bytes,
) -> Result<Option<Versioned>, Broken> {
    let bound = Bound::Included(&name[..]);
    let page = shard
        .store()
        .scan_page(keyspace, partition, bound, bound, 1, usize::MAX, None)
        .map_err(|error| broken(format!("{}: {error}", shard.label()), None))?;
    Ok(page.items.into_iter().next().map(|(_, record)| record))
}

fn no_copies_too_many(
    placed: &KeyspacePlacement,
    partition: u16,
    held: &Held,
    place: Place,
) -> Result<(), Broken> {
    for (address, record) in held {
        if !placed.holds(*address, partition, record.from) {
            let text = format!(
                "{address} holds {}, although it is not among its replicas",
                told(Some(record))
            );
            return Err(broken(text, Some(place)));
        }
    }
    Ok(())
}

fn told(record: Option<&Versioned>) -> String {
    match record {
        None => "nothing".into(),
        Some(r) if r.tombstone => format!("the delete {} from={}", r.stamp, r.from),
        Some(r) => {
            let write = crate::history::write_of(&r.value).unwrap_or_default();
            format!("the value of write {write} {} from={}", r.stamp, r.from)
        }
    }
}
