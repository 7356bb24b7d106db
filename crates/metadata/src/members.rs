//! Which nodes hold data, and the change of that which is under way.
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::range::ORACLE_KEYSPACE;
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most nodes that one change may bury: etcd takes 128 operations in a transaction.
const DEAD_MAX: usize = 100;

/// The nodes that hold data. The others are spare: they coordinate, and hold nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// Ids of the nodes, ascending.
    pub ids: Vec<u16>,
    /// The change under way, of which there is one at a time.
    pub change: Option<Change>,
    /// Number of the last change begun; 0 before the first.
    pub changes: u64,
}

/// A change from [`Members::ids`] to another set of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// From 1, greater with every change.
    pub id: u64,
    /// Ids of the nodes that hold data afterwards, ascending.
    pub to: Vec<u16>,
    /// Ids of nodes that are gone for good, ascending: nobody waits for them. Those that are not in
    /// `to` are forgotten at the end.
    pub dead: Vec<u16>,
    /// How far it has come.
    pub phase: Phase,
}

/// The steps of a change, in their order. Every living node confirms one before the next begins, so
/// that at any moment all of them act by the same or by two neighbouring phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The new replicas copy what they shall hold. Reads and writes are as before.
    Copy,
    /// Writes need enough of the old replicas and enough of the new.
    Joint,
    /// Reads go to the new replicas; writes still need both.
    Switch,
    /// Reads and writes go to the new replicas alone.
    Settle,
}

impl Phase {
    /// The phase after this; `None` after the last.
    pub fn next(self) -> Option<Phase> {
        match self {
            Phase::Copy => Some(Phase::Joint),
            Phase::Joint => Some(Phase::Switch),
            Phase::Switch => Some(Phase::Settle),
            Phase::Settle => None,
        }
    }

    /// Whether a change may still be cancelled: as long as all reads go to the old replicas.
    pub(crate) fn can_cancel(self) -> bool {
        matches!(self, Phase::Copy | Phase::Joint)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Copy => "copy",
            Phase::Joint => "joint",
            Phase::Switch => "switch",
            Phase::Settle => "settle",
        })
    }
}

/// What becomes of the members, and of nodes.
pub(crate) struct Decision<T> {
    pub members: Members,
    /// Names of the nodes whose records are deleted with it.
    pub forgotten: Vec<String>,
    /// The caller's answer.
    pub value: T,
}

impl<T> Decision<T> {
    fn new(members: Members, value: T) -> Self {
        Self {
            members,
            forgotten: Vec::new(),
            value,
        }
    }

    /// Whether there is anything to write.
    pub fn changes(&self, now: &Topology) -> bool {
        self.members != now.members || !self.forgotten.is_empty()
    }
}

/// The members after a node was registered for the first time. It is one of them while there are
/// fewer than a keyspace wants replicas: that is how a cluster forms.
pub(crate) fn join(now: &Topology, node: u16) -> Members {
    let wanted = most_replicas(now).map_or(KeyspaceSettings::default().replicas, |keyspace| {
        keyspace.settings.replicas
    });
    let mut members = now.members.clone();
    if members.change.is_none() && members.ids.len() < usize::from(wanted) {
        insert(&mut members.ids, node);
    }
    members
}

/// Begins the change to `to`; the nodes in `dead` are gone for good.
pub(crate) fn begin(
    now: &Topology,
    mut to: Vec<u16>,
    mut dead: Vec<u16>,
) -> Result<Decision<Change>, MetadataError> {
    for ids in [&mut to, &mut dead] {
        ids.sort_unstable();
        ids.dedup();
    }
    if let Some(change) = &now.members.change {
        return Err(MetadataError::ChangeUnderWay {
            id: change.id,
            phase: change.phase,
        });
    }
    if to.is_empty() {
        return Err(MetadataError::invalid("members", "at least one node"));
    }
    for node in to.iter().chain(&dead) {
        check_known(now, *node)?;
    }
    if let Some(both) = to.iter().find(|node| dead.contains(node)) {
        let rule = "cannot be dead and a member";
        return Err(MetadataError::invalid(format!("node {both}"), rule));
    }
    check_dead(&dead)?;
    if to == now.members.ids {
        return Err(MetadataError::SameMembers);
    }
    if let Some(keyspace) = most_replicas(now)
        && to.len() < usize::from(keyspace.settings.replicas)
    {
        return Err(MetadataError::TooFewNodes {
            keyspace: keyspace.name.clone(),
            replicas: keyspace.settings.replicas,
            nodes: to.len(),
        });
    }
    let mut members = now.members.clone();
    let id = members.changes.checked_add(1);
    let change = Change {
        id: id.ok_or(MetadataError::Exhausted { what: "change id" })?,
        to,
        dead,
        phase: Phase::Copy,
    };
    members.changes = change.id;
    members.change = Some(change.clone());
    Ok(Decision::new(members, change))
}

/// Takes change `id` from the phase `from` to the next, or to its end after the last. A change that
/// is further already, or has ended, stays as it is: somebody else was faster.
pub(crate) fn advance(now: &Topology, id: u64, from: Phase) -> Result<Decision<()>, MetadataError> {
    let mut members = now.members.clone();
    if id == 0 || id > members.changes {
        return Err(MetadataError::NotYet { id, phase: from });
    }
    let Some(mut change) = members.change.take_if(|change| change.id == id) else {
        return Ok(Decision::new(members, ()));
    };
    if change.phase < from {
        return Err(MetadataError::NotYet { id, phase: from });
    }
    let mut forgotten = Vec::new();
    if change.phase > from {
        members.change = Some(change);
    } else if let Some(next) = from.next() {
        change.phase = next;
        members.change = Some(change);
    } else {
        let gone = change.dead.iter().filter(|node| !change.to.contains(node));
        let gone = gone.filter_map(|node| now.node(*node));
        forgotten.extend(gone.map(|node| node.name.clone()));
        members.ids = change.to;
    }
    Ok(Decision {
        members,
        forgotten,
        value: (),
    })
}

/// Ends the change under way as if it had not been begun.
pub(crate) fn cancel(now: &Topology) -> Result<Decision<()>, MetadataError> {
    let mut members = now.members.clone();
    let change = members.change.take().ok_or(MetadataError::NoChange)?;
    if !change.phase.can_cancel() {
        return Err(MetadataError::TooLate {
            id: change.id,
            phase: change.phase,
        });
    }
    Ok(Decision::new(members, ()))
}

/// Adds a node to the dead of the change under way.
pub(crate) fn bury(now: &Topology, node: u16) -> Result<Decision<()>, MetadataError> {
    let mut members = now.members.clone();
    let change = members.change.as_mut().ok_or(MetadataError::NoChange)?;
    check_known(now, node)?;
    if change.phase.can_cancel() && change.to.contains(&node) {
        return Err(MetadataError::Needed {
            node,
            id: change.id,
        });
    }
    insert(&mut change.dead, node);
    check_dead(&change.dead)?;
    Ok(Decision::new(members, ()))
}

/// Forgets a spare node.
pub(crate) fn forget(now: &Topology, name: &str) -> Result<Decision<()>, MetadataError> {
    let id = match now.node_named(name) {
        Some(node) => node.id,
        None => return Err(unknown(name)),
    };
    let is_member = now.members.ids.contains(&id);
    if let Some(change) = &now.members.change
        && (is_member || change.to.contains(&id) || change.dead.contains(&id))
    {
        return Err(MetadataError::InChange {
            name: name.to_owned(),
            id: change.id,
        });
    }
    if is_member {
        return Err(MetadataError::IsMember {
            name: name.to_owned(),
        });
    }
    Ok(Decision {
        members: now.members.clone(),
        forgotten: vec![name.to_owned()],
        value: (),
    })
}

/// The oracle has as many as there is room for.
fn most_replicas(now: &Topology) -> Option<&Keyspace> {
    let keyspaces = now.keyspaces.iter();
    let keyspaces = keyspaces.filter(|keyspace| keyspace.name != ORACLE_KEYSPACE);
    keyspaces.max_by_key(|keyspace| keyspace.settings.replicas)
}

/// Whether a node is gone for good: it is declared dead, or neither holds data nor is to.
pub fn is_gone(now: &Topology, id: u16) -> bool {
    let change = now.members.change.as_ref();
    let is_dead = change.is_some_and(|change| change.dead.contains(&id));
    let comes = change.is_some_and(|change| change.to.contains(&id));
    is_dead || !comes && !now.members.ids.contains(&id)
}

fn insert(ids: &mut Vec<u16>, node: u16) {
    if let Err(at) = ids.binary_search(&node) {
        ids.insert(at, node);
    }
}

fn check_known(now: &Topology, node: u16) -> Result<(), MetadataError> {
    now.node(node).map(|_| ()).ok_or_else(|| unknown(node))
}

fn check_dead(dead: &[u16]) -> Result<(), MetadataError> {
    if dead.len() <= DEAD_MAX {
        return Ok(());
    }
    let rule = format!("at most {DEAD_MAX} in one change");
    Err(MetadataError::invalid("dead nodes", rule))
}

fn unknown(node: impl ToString) -> MetadataError {
    MetadataError::UnknownNode {
        node: node.to_string(),
    }
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
