//! Talking to etcd: a client for each change or watch, a limit on each wait, one line of detail.
use super::access;
use super::address::Address;
use crate::error::MetadataError;
use dunlin_tls::Trouble;
use etcd_client::{Client, ConnectOptions, Error};
use std::error::Error as _;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long etcd may take to answer.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// etcd hangs up on clients that ping more often than every 5 s.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a step failed: etcd's doing, or a decision.
pub(crate) enum Failure {
    Etcd(String),
    Decided(MetadataError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Etcd(detail(&error))
    }
}

impl From<MetadataError> for Failure {
    fn from(error: MetadataError) -> Self {
        Self::Decided(error)
    }
}

impl Failure {
    pub fn at(self, address: &Address) -> MetadataError {
        match self {
            Self::Etcd(detail) => MetadataError::Unavailable {
                endpoint: address.to_string(),
                detail,
            },
            Self::Decided(error) => error,
        }
    }
}

/// Looks whether etcd can be asked as the settings say, without asking it.
pub(crate) fn check(address: &Address) -> Result<(), MetadataError> {
    match access::add(address, ConnectOptions::new()) {
        Ok(_) => Ok(()),
        Err(detail) => Err(MetadataError::Access { detail }),
    }
}

/// A client of its own for each use: changes are rare, and one that failed leaves nothing behind
/// that could make the next fail too. Connects with the first request.
pub(crate) async fn client(address: &Address) -> Result<Client, Failure> {
    let options = ConnectOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_keep_alive(PING_INTERVAL, PING_TIMEOUT)
        // A member cut off from the others would keep a watch open and never report anything.
        .with_require_leader(true);
    let options = access::add(address, options).map_err(Failure::Etcd)?;
    Ok(Client::connect(address.members(), Some(options)).await?)
}

/// Runs `steps`, for as long as etcd may take at most.
pub(crate) async fn limited<T>(
    steps: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match timeout(ANSWER_TIMEOUT, steps).await {
        Ok(result) => result,
        Err(_) => Err(Failure::Etcd(format!(
            "no answer within {ANSWER_TIMEOUT:?}"
        ))),
    }
}

/// One line: what the status says, and the cause at the bottom of it.
fn detail(error: &Error) -> String {
    let Error::GRpcStatus(status) = error else {
        return error.to_string();
    };
    if let Some(trouble) = Trouble::within(status) {
        return trouble.say("--etcd-tls-ca", "--etcd-tls-cert and --etcd-tls-key");
    }
    let mut cause = status.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    match cause.map(|cause| cause.to_string()) {
        // HTTP/2 keeps of an error below it the text alone. etcd says so behind the handshake.
        Some(cause) if cause.contains("fatal alert") => format!(
            "{cause}: it wants a certificate that it believes (--etcd-tls-cert and --etcd-tls-key)"
        ),
        Some(cause) => format!("{}: {cause}", status.message()),
        None => status.message().to_owned(),
    }
}
