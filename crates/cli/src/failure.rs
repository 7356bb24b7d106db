//! How a command ends when it does not succeed: one line on standard error and an exit code.

use dunlin_client::ClientError;

/// The reason a command ends early, by exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something went wrong while doing it (exit code 1).
    #[error("{0}")]
    Failed(String),
    /// The command line, environment or configuration is wrong (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// The key or keyspace asked for does not exist (exit code 3).
    #[error("{0}")]
    NotFound(String),
    /// A comparison has no result (exit code 3).
    #[error("{0}")]
    NotKnown(String),
    /// Another process runs as this node: starting this one again would not help (exit code 4).
    #[error("{0}")]
    Superseded(String),
    /// It is done but for some of the input, which is malformed (exit code 5).
    #[error("{0}")]
    Partly(String),
    /// Whoever read standard output has gone, as in `dunlin scan | head` (exit code 0, silent).
    #[error("standard output was closed")]
    OutputClosed,
}

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::OutputClosed => 0,
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 2,
            Failure::NotFound(_) | Failure::NotKnown(_) => 3,
            Failure::Superseded(_) => 4,
            Failure::Partly(_) => 5,
        }
    }

    /// A failure that names the file it is about.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::Failed(format!("{}: {error}", path.display()))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        match error {
            ClientError::Address { .. } | ClientError::Invalid(_) => {
                Failure::Usage(error.to_string())
            }
            ClientError::Unauthorized(_) => Failure::Failed(format!(
                "{error}: say who asks with --user NAME --password-file FILE, or --token-file FILE"
            )),
            ClientError::Forbidden(_) => Failure::Failed(format!(
                "{error}: an administrator gives it with dunlin user set"
            )),
            ClientError::NotFound(_) => Failure::NotFound(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        }
    }
}
