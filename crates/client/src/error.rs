//! Why a call failed, told by what the caller can do about it.

use std::time::Duration;

use dunlin_proto::pairs::PairError;

/// A failed call. Each variant names what to do next; [`ClientError::is_retryable`] sums it up.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server's address is not usable: correct it.
    #[error("{address:?} is not a server address: {reason}")]
    Address {
        /// The address as given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The request cannot be sent as it is: correct it.
    #[error("{0}")]
    Invalid(String),
    /// No server of the list accepted a connection: start one, or try again later.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// The server tried last.
        server: String,
        /// The connection error.
        reason: String,
    },
    /// The server is there, and it or its certificate is not to be believed, or does not believe the
    /// client: the reason says what to correct.
    #[error("{server}: {reason}")]
    Tls {
        /// The server tried last.
        server: String,
        /// What stands in the way, and what to do.
        reason: String,
    },
    /// No answer in time: try again; a write may have been done.
    #[error("{server} did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The server tried last.
        server: String,
        /// The time waited.
        after: Duration,
    },
    /// The connection broke before the answer was complete: try again; a write may have been done.
    #[error("connection to {server} lost: {reason}")]
    Interrupted {
        /// The server of the connection.
        server: String,
        /// The connection error.
        reason: String,
    },
    /// What must not be done twice was sent and its answer lost: look whether it was done, as by
    /// reading the key of a conditional write, before trying again.
    #[error("the answer of {server} was lost, what was asked for may have been done: {reason}")]
    Ambiguous {
        /// The server of the connection.
        server: String,
        /// The connection error.
        reason: String,
    },
    /// The condition of a conditional write does not hold: read again and decide anew.
    #[error("{0}")]
    Precondition(String),
    /// Others were in the way of a transaction, or it was lost: nothing of it happened; begin another.
    #[error("{0}")]
    Conflict(String),
    /// The keyspace does not exist: create it, or correct its name.
    #[error("{0}")]
    NotFound(String),
    /// Too few replicas answered: try again once more nodes are up, or ask for fewer.
    #[error("{0}")]
    NotEnoughReplicas(String),
    /// The server cannot serve this now (status 5xx): try another server, or later.
    #[error("{server} answers {status}: {message}")]
    Unavailable {
        /// The server that answered.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The server's own words.
        message: String,
    },
    /// The cluster has users, and who asks is none of them: say who, or say it right (status 401).
    #[error("{0}")]
    Unauthorized(String),
    /// The user lacks a right: ask an administrator for it (status 403).
    #[error("{0}")]
    Forbidden(String),
    /// The server refuses the request as it is (status 4xx): correct it.
    #[error("refused ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's own words.
        message: String,
    },
    /// The answer is not what a Dunlin server sends: check the address.
    #[error("{server} does not answer like a Dunlin server: {reason}")]
    Protocol {
        /// The server that answered.
        server: String,
        /// What was unexpected.
        reason: String,
    },
}

impl From<PairError> for ClientError {
    fn from(error: PairError) -> ClientError {
        ClientError::Invalid(error.to_string())
    }
}

impl ClientError {
    /// Whether the same request may succeed later without being changed. A lost conditional
    /// write is not among these: whether it was done has to be read first.
    pub fn is_retryable(&self) -> bool {
        match self {
            ClientError::Unreachable { .. }
            | ClientError::Timeout { .. }
            | ClientError::Interrupted { .. }
            | ClientError::NotEnoughReplicas(_)
            | ClientError::Unavailable { .. } => true,
            ClientError::Address { .. }
            | ClientError::Invalid(_)
            | ClientError::Tls { .. }
            | ClientError::Ambiguous { .. }
            | ClientError::Precondition(_)
            | ClientError::Conflict(_)
            | ClientError::NotFound(_)
            | ClientError::Unauthorized(_)
            | ClientError::Forbidden(_)
            | ClientError::Refused { .. }
            | ClientError::Protocol { .. } => false,
        }
    }
}
