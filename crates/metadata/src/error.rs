//! Why something was not done, and so what to do.
use crate::accept::Refusal;
use crate::link_record::LinkRefusal;
use crate::members::Phase;
use std::io;
use std::path::PathBuf;

/// Why a change or an opening failed.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// A keyspace of this name exists. Describe it, or drop it first.
    #[error("keyspace {name} exists")]
    Exists {
        /// The keyspace's name.
        name: String,
    },
    /// No keyspace has this name.
    #[error("keyspace {name} does not exist")]
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// No keyspace of this name has been dropped. List those that have been.
    #[error("no keyspace {name} has been dropped: dunlin keyspace list --dropped shows which have")]
    NotDropped {
        /// The name that was asked for.
        name: String,
    },
    /// The keyspace has no view of this name. List its views to see which it has.
    #[error("there is no view {name}: dunlin view list shows which there are")]
    NoView {
        /// The name that was asked for.
        name: String,
    },
    /// The keyspace has a view of this name. Drop it first, or choose another name.
    #[error("there is a view {name} already: drop it first, or choose another name")]
    ViewExists {
        /// The name.
        name: String,
    },
    /// There is no link of this name. List the links to see which there are.
    #[error("there is no link {name}: dunlin link list shows which there are")]
    NoLink {
        /// The name in the request.
        name: String,
    },
    /// There is a link of this name. Drop it first, or choose another name.
    #[error("there is a link {name} already: drop it first, or choose another name")]
    LinkExists {
        /// The name.
        name: String,
    },
    /// The drop was too long ago. The data is gone.
    #[error("keyspace {name} was dropped too long ago: its data is gone")]
    Purged {
        /// The keyspace's name.
        name: String,
    },
    /// A drop is not taken back while its name is in use. Drop the other keyspace first.
    #[error("there is another keyspace {name} now: its drop cannot be taken back beside it")]
    NameTaken {
        /// The keyspace's name.
        name: String,
    },
    /// The store is not believed, so nothing is changed in it. Reads and writes of data go on by
    /// the last topology. Put the store back, or point to the right one.
    #[error("metadata store {place} is refused: {refusal}")]
    Refused {
        /// Which store.
        place: String,
        /// Why.
        refusal: Refusal,
    },
    /// The data directory is of another cluster than the store. Point to the right store.
    #[error(
        "the data directory is of cluster {known}, the metadata store of {found}: check --metadata and --data"
    )]
    OtherCluster {
        /// The store's cluster.
        found: String,
        /// The directory's.
        known: String,
    },
    /// The data directory is of a cluster and the store of none. It has lost its memory.
    #[error(
        "the data directory is of cluster {known} and the metadata store of none: put metadata.json back from a copy, or etcd with dunlin metadata restore"
    )]
    NoCluster {
        /// The directory's cluster.
        known: String,
    },
    /// The data directory is of a node that the store does not know.
    #[error(
        "the data is of a node {name} with number {id}, which this cluster does not have (any more)"
    )]
    Foreign {
        /// The node's name.
        name: String,
        /// Its number.
        id: u16,
    },
    /// The cluster has no room for a node's shards. Start it with fewer, if any are left; its data, if
    /// it has any, stay as they are.
    #[error(
        "a cluster may have {most} shards, and the other nodes have {others}: {own} more are too many{}",
        fewer(*most, *others)
    )]
    NoRoom {
        /// Shards that there may be.
        most: u16,
        /// Shards of the other nodes.
        others: u16,
        /// What this one wants.
        own: u16,
    },
    /// Another process has started under this node's name since. Stop one of them.
    #[error(
        "node {name} has been started again elsewhere: this is its start {own}, that was {found}"
    )]
    Superseded {
        /// The node's name.
        name: String,
        /// This start's incarnation.
        own: u32,
        /// The newer one.
        found: u32,
    },
    /// A user of this name exists. Change it, or choose another name.
    #[error("user {name} exists: dunlin user set changes it")]
    UserExists {
        /// The user's name.
        name: String,
    },
    /// No user has this name. List the users.
    #[error("there is no user {name}")]
    UnknownUser {
        /// The name that was asked for.
        name: String,
    },
    /// Who asked could change users when he began to, and cannot any more. Say who you are, as one
    /// who can.
    #[error("the users were changed meanwhile: {by} may not change them now")]
    NoLongerAdmin {
        /// Who asked.
        by: String,
    },
    /// The first user closes the cluster to all others. Begin with an admin.
    #[error("the first user must have the role admin on *: it makes the others")]
    FirstUser,
    /// Nobody could make users any more. Make another admin first, or open the cluster.
    #[error(
        "{name} is the last user with admin on *: make another first, or open the cluster to all \
         with dunlin user disable"
    )]
    LastAdmin {
        /// The user's name.
        name: String,
    },
    /// The store is of a version without ids. Start one of its nodes first.
    #[error("the cluster has no id yet, and so no users: start one of its nodes first")]
    NoIdYet,
    /// What was asked for breaks a rule. Change the request.
    #[error("{what}: {rule}")]
    Invalid {
        /// The part at fault, with its value.
        what: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// No node has this name or id. List the nodes.
    #[error("no node {node} is registered")]
    UnknownNode {
        /// The name or id that was asked for.
        node: String,
    },
    /// The members are already those that were asked for. There is nothing to wait for.
    #[error("these nodes are the members already")]
    SameMembers,
    /// A keyspace would have more replicas than there are members. Add a node first.
    #[error(
        "keyspace {keyspace} keeps {replicas} replicas and only {nodes} {} would be left: \
         add a node first",
        if *.nodes == 1 { "node" } else { "nodes" }
    )]
    TooFewNodes {
        /// The keyspace with the most replicas.
        keyspace: String,
        /// How many it keeps.
        replicas: u8,
        /// How many members there would be.
        nodes: usize,
    },
    /// Each replica of a transactional keyspace is on a member of its own. Add members first.
    #[error(
        "keyspace {keyspace} is to have {replicas} replicas, each on another member, and there are {nodes}: \
         add members first, or ask for fewer replicas"
    )]
    TooFewForRange {
        /// The keyspace.
        keyspace: String,
        /// How many it is to have.
        replicas: u8,
        /// How many members there are that stay.
        nodes: usize,
    },
    /// A range still has a replica on a node that gives its data away. Wait; `dunlin status` shows what it waits for.
    #[error("change {id} of the members waits: {range}")]
    RangeOutside {
        /// The change's id.
        id: u64,
        /// Which range, and why.
        range: String,
    },
    /// There is no such range, or the target is none.
    #[error("range {keyspace}/{range}: {why}")]
    NoTarget {
        /// The keyspace.
        keyspace: String,
        /// The range's number.
        range: u16,
        /// The rule that it breaks.
        why: String,
    },
    /// One change of the members at a time. Wait until this one has ended, or cancel it, which is
    /// possible in the phases copy and joint.
    #[error("change {id} of the members is under way, in phase {phase}: {}", wait(*.phase))]
    ChangeUnderWay {
        /// The change's id.
        id: u64,
        /// How far it has come.
        phase: Phase,
    },
    /// No change of the members is under way. There is nothing to cancel or to add to.
    #[error("no change of the members is under way")]
    NoChange,
    /// The change cannot be cancelled any more. Wait until it has ended, then change back.
    #[error("change {id} of the members is in phase {phase}: too late to cancel, it will finish")]
    TooLate {
        /// The change's id.
        id: u64,
        /// How far it has come.
        phase: Phase,
    },
    /// The change has not come to the phase that it was to leave, or was never begun. Read the
    /// topology again.
    #[error("change {id} of the members has not come to phase {phase}")]
    NotYet {
        /// The change's id.
        id: u64,
        /// The phase that it was to leave.
        phase: Phase,
    },
    /// A node that died is one of those that the change copies to. Cancel the change, and begin
    /// another without it.
    #[error("node {node} is to hold data after change {id}: cancel that, and begin one without it")]
    Needed {
        /// The node's id.
        node: u16,
        /// The change's id.
        id: u64,
    },
    /// A member is not forgotten. Change the members first.
    #[error("node {name} is a member: take it out of the members first")]
    IsMember {
        /// The node's name.
        name: String,
    },
    /// A node that a change names is not forgotten. Wait until the change has ended.
    #[error("node {name} is part of change {id} of the members: wait until that has ended")]
    InChange {
        /// The node's name.
        name: String,
        /// The change's id.
        id: u64,
    },
    /// All numbers of a kind have been given out; they are never used twice.
    #[error("no {what} is left to give out")]
    Exhausted {
        /// What the numbers are for.
        what: &'static str,
    },
    /// The metadata store did not answer. Nothing is known about whether a change was made; try
    /// again later. Reads of the last topology go on.
    #[error("metadata store {endpoint} is unavailable: {detail}")]
    Unavailable {
        /// Where the store was looked for.
        endpoint: String,
        /// What went wrong.
        detail: String,
    },
    /// etcd cannot be asked as the settings say. Correct the file that is named.
    #[error("etcd cannot be asked: {detail}")]
    Access {
        /// What is wrong.
        detail: String,
    },
    /// Another process has the file open. Only one may.
    #[error("{path} is in use by another process")]
    Locked {
        /// The metadata file.
        path: PathBuf,
    },
    /// The stored metadata cannot be understood. Restore it from a copy; it is not overwritten.
    #[error("metadata in {place} is damaged: {detail}")]
    Damaged {
        /// The file or the etcd key.
        place: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The file could not be read or written. The change was not made.
    #[error("metadata file {path}: {source}")]
    Storage {
        /// The metadata file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl MetadataError {
    pub(crate) fn invalid(what: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid {
            what: what.into(),
            rule: rule.into(),
        }
    }
}

/// What is left to do about a change in this phase.
fn wait(phase: Phase) -> &'static str {
    if phase.can_cancel() {
        "wait until it has ended, or cancel it"
    } else {
        "wait until it has ended"
    }
}

/// What to do about too many shards, where something can be done.
fn fewer(most: u16, others: u16) -> String {
    match most.saturating_sub(others) {
        0 => String::new(),
        left => format!("; start with --shards {left}"),
    }
}

impl From<LinkRefusal> for MetadataError {
    fn from(refusal: LinkRefusal) -> Self {
        match refusal {
            LinkRefusal::Missing(name) => Self::NoLink { name },
            LinkRefusal::Exists(name) => Self::LinkExists { name },
            LinkRefusal::Exhausted => Self::Exhausted { what: "link id" },
            LinkRefusal::Rule(name, rule) => Self::invalid(format!("link {name}"), rule),
        }
    }
}
