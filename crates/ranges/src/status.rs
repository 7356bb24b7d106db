//! What a shard tells of the replicas that it holds.

use dunlin_node::Services;
use dunlin_proto::api::RangeStatus;
use raft::StateRole;

use crate::group::{Group, index_of, keyspace_of};
use crate::keep::wanted;
use crate::plug::{Part, at_shard};
use crate::ranges::Silent;

/// The replicas at this shard.
pub(crate) fn of(services: &Services) -> Vec<RangeStatus> {
    let own = services.shard().address();
    let Some(at_shard) = at_shard(services) else {
        return in_trouble(services);
    };
    let mut all = Vec::new();
    for (id, group) in at_shard.groups.borrow().iter() {
        all.push(of_group(services, *id, group));
    }
    for (id, silent) in at_shard.silent.borrow().iter() {
        let (role, reason) = match silent {
            Silent::Preparing => ("preparing", None),
            Silent::Mute(why) => (RangeStatus::SILENT, Some((*why).to_owned())),
        };
        all.push(RangeStatus {
            reason,
            ..blank(services, own, *id, role)
        });
    }
    all.sort_by(|a, b| (&a.keyspace, a.range).cmp(&(&b.keyspace, b.range)));
    all
}

/// All that should be here where log and store could not be opened.
fn in_trouble(services: &Services) -> Vec<RangeStatus> {
    let own = services.shard().address();
    let Some(part) = services.find::<Part>() else {
        return Vec::new();
    };
    let Some(trouble) = part.trouble.borrow().clone() else {
        return Vec::new();
    };
    let held = wanted(services).into_iter();
    held.map(|range| RangeStatus {
        reason: Some(trouble.clone()),
        ..blank(services, own, range.id, "failed")
    })
    .collect()
}

fn blank(services: &Services, own: dunlin_proto::ShardAddress, id: u64, role: &str) -> RangeStatus {
    let keyspace = services.transactional_keyspace(keyspace_of(id));
    RangeStatus {
        at: services.label_of(own),
        keyspace: keyspace.map_or_else(|| id.to_string(), |keyspace| keyspace.name.clone()),
        range: index_of(id) as u64,
        role: role.to_owned(),
        reason: None,
        leader: None,
        term: 0,
        last: 0,
        committed: 0,
        applied: 0,
        behind: 0,
        elections: 0,
        snapshots: 0,
        intents: 0,
        oldest_intent_ms: 0,
        number: keyspace_of(id),
        ended: None,
    }
}

fn of_group(services: &Services, id: u64, group: &Group) -> RangeStatus {
    let own = services.shard().address();
    let leader = group.leader().and_then(|leader| group.at(leader));
    let node = group.node.borrow();
    let failed = group.failed.borrow().clone();
    let role = match node.raft.state {
        _ if failed.is_some() => "failed",
        StateRole::Leader => "leader",
        StateRole::Follower => "follower",
        StateRole::Candidate | StateRole::PreCandidate => "candidate",
    };
    let last = node.raft.raft_log.last_index();
    let state = group.state.borrow();
    let oldest = state.intents().map(|(_, intent)| intent.txn).min();
    let matched = node.raft.prs().iter().map(|(_, progress)| progress.matched);
    let behind = match node.raft.state {
        StateRole::Leader => last - matched.min().unwrap_or(last).min(last),
        _ => 0,
    };
    RangeStatus {
        reason: failed,
        leader: leader.map(|at| services.label_of(at)),
        term: node.raft.term,
        last,
        committed: node.raft.raft_log.committed,
        applied: group.meta.get().applied,
        behind,
        elections: group.counters.elections.get(),
        snapshots: group.counters.snapshots.get(),
        intents: state.intents().count() as u64,
        ended: state.is_ended().then(|| state.drops()),
        oldest_intent_ms: oldest.map_or(0, |txn| services.now_ms().saturating_sub(txn.millis())),
        ..blank(services, own, id, role)
    }
}
