//! What a shard tells of the replicas that it holds.

use dunlin_metadata::RangeReplica;
use dunlin_node::Services;
use dunlin_node::plug::RangeTrouble;
use dunlin_proto::api::{LedRange, RangeCopy, RangeMember, RangeStatus};
use dunlin_raftlog::GroupStorage;
use raft::{RawNode, StateRole};

use crate::descriptor::{Descriptor, Member, Role};
use crate::group::{Group, keyspace_of, number_of};
use crate::keep::wanted;
use crate::next_step::{Repair, Wait};
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

/// The reason why ranges are not served from here that should be, if there is one.
pub(crate) fn trouble(services: &Services) -> Option<RangeTrouble> {
    let own = at_shard(services);
    if let Some(why) = own.as_ref().and_then(|own| own.health.trouble()) {
        let ranges = Vec::new();
        return Some(RangeTrouble { why, ranges });
    }
    let part = services.find::<Part>()?;
    let closed = part.trouble.borrow();
    let reason = |id: u64, replica: RangeReplica| {
        let Some(own) = &own else {
            return closed.clone();
        };
        if let Some(group) = own.groups.borrow().get(&id) {
            let waits = "the replica that takes its place waits for a majority of the others";
            let waits = (group.others.own != replica.id).then(|| waits.to_owned());
            return group.failed.borrow().clone().or(waits);
        }
        match own.silent.borrow().get(&id) {
            Some(Silent::Mute(why)) => Some((*why).to_owned()),
            _ => None,
        }
    };
    let reasons: Vec<(String, String)> = (wanted(services).into_iter())
        .filter_map(|(id, replica)| {
            let keyspace = services.transactional_keyspace(keyspace_of(id))?;
            services.transactional_named(&keyspace.name)?;
            Some((
                format!("{}/{}", keyspace.name, number_of(id)),
                reason(id, replica)?,
            ))
        })
        .collect();
    let (first, why) = reasons.first()?;
    let more = match reasons.len() - 1 {
        0 => String::new(),
        more => format!("; nor do {more} more of its replicas"),
    };
    Some(RangeTrouble {
        why: format!("its replica of {first} does not work: {why}{more}"),
        ranges: reasons.into_iter().map(|(range, _)| range).collect(),
    })
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
    let held = wanted(services).into_keys();
    held.map(|id| RangeStatus {
        reason: Some(trouble.clone()),
        ..blank(services, own, id, "failed")
    })
    .collect()
}

fn blank(services: &Services, own: dunlin_proto::ShardAddress, id: u64, role: &str) -> RangeStatus {
    let keyspace = services.transactional_keyspace(keyspace_of(id));
    RangeStatus {
        at: services.label_of(own),
        keyspace: keyspace.map_or_else(|| id.to_string(), |keyspace| keyspace.name.clone()),
        range: number_of(id).into(),
        role: role.to_owned(),
        number: keyspace_of(id),
        ..RangeStatus::default()
    }
}

/// All replicas of a range that is led here.
fn replicas(
    services: &Services,
    group: &Group,
    node: &RawNode<GroupStorage>,
    descriptor: &Descriptor,
) -> Vec<RangeMember> {
    let of_member = |member: &Member| RangeMember {
        id: member.id,
        at: services.label_of(member.at),
        role: match member.role {
            Role::Voter => "voter",
            Role::Incoming => "incoming",
            Role::Outgoing => "outgoing",
            Role::Learner => "learner",
        }
        .to_owned(),
        matched: group.others.progress(node, member.id).matched,
        heard: group.others.is_active(member.id),
    };
    descriptor.members.iter().map(of_member).collect()
}

/// Copies that are sent from here.
fn copies(services: &Services, group: &Group) -> Vec<RangeCopy> {
    let serving = group.serving.borrow();
    let copies = serving.iter().filter_map(|(id, sent)| {
        Some(RangeCopy {
            to: services.label_of(group.at(*id)?),
            bytes: sent.bytes,
            about_bytes: sent.about_bytes,
            bytes_per_s: sent.bytes_per_s,
        })
    });
    copies.collect()
}

/// The change of the replicas under way, and whether writes are slow for it.
fn doing(services: &Services, group: &Group, step: Option<&Repair>) -> Option<String> {
    let step = step.and_then(|step| line(services, step));
    let slowed = group.others.is_slowed();
    let slowed = slowed.then(|| "writes are slowed until a copy is complete".to_owned());
    let lines: Vec<String> = step.into_iter().chain(slowed).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// What a leader does about the replicas of its range, as people read it.
fn line(services: &Services, step: &Repair) -> Option<String> {
    Some(match step {
        Repair::Nothing => return None,
        Repair::Follow => "goes by a new target from now on".to_owned(),
        Repair::Transfer(_) => "another replica takes the lead".to_owned(),
        Repair::Prepare(at) => format!("a replica is made at {}", services.label_of(*at)),
        Repair::Enter { .. } | Repair::Leave => "its voters change".to_owned(),
        Repair::Remove(_) => "a replica that is not needed goes".to_owned(),
        Repair::Wait(Wait::Copy) => "a new replica gets a copy".to_owned(),
        Repair::Wait(Wait::Majority) => "waits until more of the new voters are heard".to_owned(),
        Repair::Wait(Wait::Leader) => "waits until another replica leads".to_owned(),
        Repair::Wait(Wait::Room) => "waits for a node with room for another replica".to_owned(),
    })
}

fn of_group(services: &Services, id: u64, group: &Group) -> RangeStatus {
    let own = services.shard().address();
    let leader = group.leader().and_then(|leader| group.at(leader));
    let node = group.node.borrow();
    let failed = group.failed.borrow().clone();
    let descriptor = group.others.descriptor.borrow();
    let member = descriptor
        .as_ref()
        .and_then(|known| known.member(group.others.own));
    let learns = member.is_none_or(|member| member.role == Role::Learner);
    let role = match node.raft.state {
        _ if failed.is_some() => "failed",
        _ if learns => "learner",
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
    let leads = node.raft.state == StateRole::Leader;
    let replicas = match (&*descriptor, leads) {
        (Some(descriptor), true) => replicas(services, group, &node, descriptor),
        _ => Vec::new(),
    };
    let wanted = services.transactional_keyspace(keyspace_of(id));
    let wanted = wanted.map_or(0, |keyspace| keyspace.settings.replicas);
    let has_all = |replica: &RangeMember| {
        let progress = group.others.progress(&node, replica.id);
        replica.role == "voter" && progress.has_caught_up(last)
    };
    let is_whole = replicas.len() == usize::from(wanted) && replicas.iter().all(has_all);
    let step = group.others.step.borrow();
    RangeStatus {
        id: group.others.own,
        config: descriptor
            .as_ref()
            .map_or(0, |descriptor| descriptor.config),
        led: LedRange {
            whole: leads && group.serves_with(&node) && is_whole,
            doing: doing(services, group, step.as_ref().filter(|_| leads)),
            replicas,
            copies: copies(services, group),
            copied_bytes: group.counters.copied_bytes.get(),
            transfers: group.counters.transfers.get(),
            failed_transfers: group.counters.failed_transfers.get(),
        },
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
