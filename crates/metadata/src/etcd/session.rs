//! Talking to etcd: a client for each change or watch, of one member, and of the next one where that
//! does not answer; a limit on each wait, one line of detail.
use super::access;
use super::address::Address;
use crate::error::MetadataError;
use crate::view::View;
use dunlin_tls::Trouble;
use etcd_client::{Client, ConnectOptions, Error};
use std::collections::BTreeMap;
use std::error::Error as _;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// How long etcd may take to answer.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// etcd hangs up on clients that ping more often than every 5 s.
const PING_INTERVAL: Duration = Duration::from_secs(6);
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

/// The members of an etcd cluster as one process sees them.
pub(crate) struct Session {
    pub address: Address,
    /// Which member is asked first: the one that answered last.
    first: AtomicUsize,
    /// Those that did not answer when they were last asked, and why.
    away: Mutex<BTreeMap<usize, String>>,
    /// Who tells of these.
    view: Option<Arc<View>>,
    /// A change has been made that the watch has not brought.
    pub overdue: Notify,
}

impl Session {
    pub fn new(address: Address, view: Option<Arc<View>>) -> Self {
        Self {
            address,
            first: AtomicUsize::new(0),
            away: Mutex::default(),
            view,
            overdue: Notify::new(),
        }
    }

    /// Runs `steps` with a client of one member after another, until one of them answers; answers
    /// which one did, too. All of them together have the time that etcd may take, and each its part of what
    /// is left.
    pub async fn ask<T, F>(&self, steps: impl Fn(Client) -> F) -> Result<(usize, T), Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let members = self.address.members().len();
        let first = self.first.load(Relaxed);
        let mut last = Failure::Etcd("it has no members".to_owned());
        for tried in 0..members {
            let member = (first + tried) % members;
            let left = deadline.saturating_duration_since(Instant::now());
            let part = left / u32::try_from(members - tried).unwrap_or(1);
            let asked = async { steps(client(&self.address, member).await?).await };
            match limited(part, asked).await {
                Err(Failure::Etcd(detail)) => {
                    self.miss(member, &detail);
                    last = Failure::Etcd(detail);
                }
                answered => {
                    self.first.store(member, Relaxed);
                    self.answered(member);
                    return Ok((member, answered?));
                }
            }
        }
        Err(last)
    }

    /// Asks one member whether it is there, and tells who watches.
    pub async fn probe<F>(&self, member: usize, steps: impl Fn(Client) -> F)
    where
        F: Future<Output = Result<(), Failure>>,
    {
        let asked = async { steps(client(&self.address, member).await?).await };
        match limited(ANSWER_TIMEOUT, asked).await {
            Err(Failure::Etcd(detail)) => self.miss(member, &detail),
            _ => self.answered(member),
        }
    }

    /// A member does not answer. Another is asked first from now on.
    pub fn miss(&self, member: usize, detail: &str) {
        let members = self.address.members().len();
        let next = (member + 1) % members;
        let _ = self.first.compare_exchange(member, next, Relaxed, Relaxed);
        self.tell(|away| drop(away.insert(member, detail.to_owned())));
    }

    fn answered(&self, member: usize) {
        self.tell(|away| drop(away.remove(&member)));
    }

    fn tell(&self, change: impl FnOnce(&mut BTreeMap<usize, String>)) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut away);
        let Some(view) = &self.view else { return };
        let members = self.address.members();
        // That no member answers is told as what it is.
        let some = away.iter().filter(|_| away.len() < members.len());
        let line = |(member, detail): (&usize, &String)| {
            let member = members.get(*member)?;
            Some(format!("etcd member {member} does not answer: {detail}"))
        };
        view.tell_of_members(some.filter_map(line).collect());
    }
}

/// A client of its own for each use: changes are rare, and one that failed leaves nothing behind
/// that could make the next fail too. Connects with the first request. A client of all members would
/// go on sending a third of its requests to one that is down.
async fn client(address: &Address, member: usize) -> Result<Client, Failure> {
    let options = ConnectOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_keep_alive(PING_INTERVAL, PING_TIMEOUT)
        // A member cut off from the others would keep a watch open and never report anything.
        .with_require_leader(true);
    let options = access::add(address, options).map_err(Failure::Etcd)?;
    let member = address
        .members()
        .get(member)
        .into_iter()
        .collect::<Vec<_>>();
    Ok(Client::connect(member, Some(options)).await?)
}

/// Runs `steps`, for so long at most.
pub(crate) async fn limited<T>(
    time: Duration,
    steps: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match timeout(time, steps).await {
        Ok(result) => result,
        Err(_) => Err(Failure::Etcd(format!("no answer within {time:.0?}"))),
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
