//! Whether a range has lost its majority for good, and with which replica it begins again. Pure.
//!
//! Every shard of every node that is not gone has to say what it holds: then nobody can come back who elects a leader
//! beside the one that is kept.

use std::collections::BTreeMap;

use dunlin_proto::ShardAddress;

use crate::descriptor::{Descriptor, Role};
use crate::survey::{Holding, Survivor};

/// What the shards hold of a range.
pub(crate) type Survey = BTreeMap<ShardAddress, Holding>;

/// Why a range is not recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A shard does not say what it holds.
    NoAnswer(ShardAddress),
    /// It has a leader.
    Led(ShardAddress),
    /// The replicas that vote, among them this one, are enough to elect a leader.
    CanElect(ShardAddress),
    /// The replica that is to be kept is not there, or has no data.
    NotThere,
    /// The range is to begin anew, and here is data of it.
    HasData(ShardAddress),
}

/// With what a range begins again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The replica on this node.
    Node(u16),
    /// Nothing.
    New,
}

/// The facts that a recovery starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Basis {
    /// The replica that is kept: where, its number, its directory number. None where it begins anew.
    pub keep: Option<(ShardAddress, u64, u64)>,
    /// The number of the newest configuration that any shard knows.
    pub config: u64,
    /// The least number that no replica has, as far as any shard knows.
    pub next: u64,
}

fn survivors(survey: &Survey) -> impl Iterator<Item = (ShardAddress, &Survivor)> {
    survey.iter().filter_map(|(at, holding)| match holding {
        Holding::Replica(replica) => Some((*at, replica)),
        _ => None,
    })
}

/// The replica that has the most: the newest last entry, as `raft` compares them.
pub(crate) fn best(survey: &Survey) -> Option<ShardAddress> {
    let newest = survivors(survey).max_by_key(|(at, replica)| {
        let last = replica.last;
        (last.term, last.index, std::cmp::Reverse(*at))
    });
    newest.map(|(at, _)| at)
}

/// Decides whether a range may begin again, and with which replica.
pub(crate) fn recover(survey: &Survey, keep: Keep) -> Result<Basis, Refusal> {
    lost(survey)?;
    let kept = match keep {
        Keep::Node(node) => {
            let mut on_node = survey.clone();
            on_node.retain(|at, _| at.node == node);
            let at = best(&on_node).ok_or(Refusal::NotThere)?;
            let kept = survivors(survey).find(|(of, _)| *of == at);
            kept.map(|(at, replica)| (at, replica.id, replica.directory))
        }
        Keep::New => match best(survey) {
            Some(at) => return Err(Refusal::HasData(at)),
            None => None,
        },
    };
    let known = survivors(survey).map(|(_, replica)| &replica.descriptor);
    let empty = survey.values().filter_map(|holding| match holding {
        Holding::Empty { id, .. } => Some(id + 1),
        _ => None,
    });
    let (config, next) = known.fold((0, 0), |(config, next), known| {
        (known.config.max(config), known.next.max(next))
    });
    Ok(Basis {
        keep: kept,
        config,
        next: empty.fold(next, u64::max),
    })
}

/// Whether nobody can lead the range any more: refused where a shard does not answer, or somebody can.
pub(crate) fn lost(survey: &Survey) -> Result<(), Refusal> {
    let unknown = survey.iter().find(|(_, h)| **h == Holding::Unknown);
    if let Some((at, _)) = unknown {
        return Err(Refusal::NoAnswer(*at));
    }
    let voting = || survivors(survey).filter(|(_, replica)| replica.votes);
    if let Some((at, _)) = voting().find(|(_, replica)| replica.leads) {
        return Err(Refusal::Led(at));
    }
    for (at, replica) in voting() {
        if can_elect(&replica.descriptor, survey) {
            return Err(Refusal::CanElect(at));
        }
    }
    Ok(())
}

/// Whether those that vote are a majority of a configuration: of both where it is joint.
fn can_elect(descriptor: &Descriptor, survey: &Survey) -> bool {
    let votes = |id: u64, directory: u64| {
        survey.values().any(|holding| match holding {
            Holding::Replica(one) => one.votes && (one.id, one.directory) == (id, directory),
            Holding::Empty {
                id: of,
                directory: d,
            } => (*of, *d) == (id, directory),
            Holding::Unknown | Holding::Nothing => false,
        })
    };
    let is_majority = |roles: [Role; 2]| {
        let members = descriptor.members.iter();
        let voters: Vec<_> = members.filter(|m| roles.contains(&m.role)).collect();
        let live = voters.iter().filter(|m| votes(m.id, m.directory));
        2 * live.count() > voters.len()
    };
    is_majority([Role::Voter, Role::Incoming]) && is_majority([Role::Voter, Role::Outgoing])
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
