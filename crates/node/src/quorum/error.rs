//! Why a request could not be carried out.

use dunlin_store::Stamp;

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
    /// Create the keyspace, or correct its name.
    #[error("there is no such keyspace")]
    UnknownKeyspace,
    /// Read the value again and decide anew.
    #[error("the condition does not hold")]
    ConditionFailed(Option<Stamp>),
    /// Make room on the disk; writes are taken again by themselves.
    #[error("no space left on the node's disk: make room and try again")]
    NoSpace,
    /// The node must be restarted.
    #[error("the node's log failed; nothing is accepted until it is restarted")]
    LogFailed,
    /// Slow down and try again.
    #[error("the node is busy: try again")]
    Busy,
}
