//! Why a request could not be carried out.

use dunlin_entry::Stamp;

/// What the caller can do about a request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Try again when more nodes are up, or ask for less.
    #[error("Not Enough Replicas: {got} of the {need} needed answered")]
    NotEnoughReplicas {
        /// Replicas that did.
        got: u8,
        /// Replicas asked for.
        need: u8,
    },
    /// Nobody was asked. Try again when more nodes are up, or ask for less.
    #[error(
        "Not Enough Replicas: {reached} of the {need} needed can be reached, so nothing was written; dunlin status shows who is away"
    )]
    NotReached {
        /// Replicas within reach.
        reached: u8,
        /// Replicas asked for.
        need: u8,
    },
    /// Try again when what it waits for is done, or ask for less.
    #[error(
        "from={from} is above the {known} that writes to this keyspace have used so far: {why}"
    )]
    NotWidened {
        /// As asked.
        from: u8,
        /// The greatest that every node knows of.
        known: u8,
        /// What it waits for, and what to do about it.
        why: String,
    },
    /// Create the keyspace, or correct its name.
    #[error("there is no such keyspace")]
    UnknownKeyspace,
    /// Wait until the node reaches the metadata store, or ask another node.
    #[error("{0}")]
    Dropped(String),
    /// Read the value again and decide anew.
    #[error("the condition does not hold")]
    ConditionFailed(Option<Stamp>),
    /// Read the key: it tells what stands.
    #[error(
        "something newer was written meanwhile: whether this write was seen before it is not known; read the key"
    )]
    Overtaken,
    /// Mend the keyspace's stamps, then send it again.
    #[error(
        "what is stored under this key is stamped further ahead than --clock-bound, and nothing can be written above it: dunlin keyspace mend-stamps {0} --yes mends that"
    )]
    Beyond(String),
    /// Make room on the disk; writes are taken again by themselves.
    #[error("no space left on the node's disk: make room and try again")]
    NoSpace,
    /// The node must be restarted.
    #[error("the node's log failed; nothing is accepted until it is restarted")]
    LogFailed,
    /// Try again in a moment.
    #[error("{0}")]
    NoLeader(String),
    /// Read the key: it tells whether the write happened.
    #[error(
        "the leader of the keyspace's range did not answer in time: whether the write happened is not known; read the key"
    )]
    FateUnknown,
    /// The node must be restarted, or its disk looked at.
    #[error("{0}")]
    RangeFailed(String),
    /// Slow down and try again.
    #[error("the node is busy: try again")]
    Busy,
    /// Try again in a moment, or with less at a time.
    #[error(
        "the memory for requests and answers (--request-memory) is taken by others: try again in a moment"
    )]
    Full,
    /// Ask for less at a time.
    #[error("{0}")]
    TooLarge(String),
    /// Send it again with a later deadline.
    #[error("the request came after its deadline: nothing was written")]
    TooLate,
    /// Send it again with a later deadline.
    #[error("the deadline passed on the way: any part of it may be written")]
    Overdue,
    /// Set the node's clock right, or ask another node.
    #[error("{0}")]
    Clock(String),
    /// Wait a moment and try again.
    #[error(
        "stamps run ahead of this node's clock by as much as the other nodes take over (--clock-bound): try again in a moment, or restart the node if its clock was set back"
    )]
    TooFarAhead,
}

impl Failure {
    /// Whether an attempt at one write that ended so wrote nothing, and never will.
    pub fn is_settled(&self) -> bool {
        match self {
            Failure::NotReached { .. }
            | Failure::NotWidened { .. }
            | Failure::UnknownKeyspace
            | Failure::Dropped(_)
            | Failure::ConditionFailed(_)
            | Failure::Busy
            | Failure::NoLeader(_)
            | Failure::Full
            | Failure::TooLarge(_)
            | Failure::TooLate
            | Failure::Clock(_)
            | Failure::TooFarAhead => true,
            Failure::NotEnoughReplicas { .. }
            | Failure::Overtaken
            | Failure::Beyond(_)
            | Failure::NoSpace
            | Failure::LogFailed
            | Failure::FateUnknown
            | Failure::RangeFailed(_)
            | Failure::Overdue => false,
        }
    }
}
