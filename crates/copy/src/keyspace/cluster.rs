//! The cluster, for threads that block: one event loop carries the requests of all of them.

use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::Duration;

use dunlin_client::{
    Client, ClientError, ClientFiles, ClientTls, Keyspace, KeyspaceDescription, Quorum, Range,
};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::address::KeyspaceAddress;
use crate::CopyError;
use crate::patience::Patience;
use crate::settings::Settings;
use crate::watch::Watch;

/// How long one server is waited for: a node gives up on a write long before.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// An event loop of its own, ended with this.
pub(crate) struct Cluster {
    address: KeyspaceAddress,
    /// For servers that speak TLS, where files were named.
    tls: Option<Arc<ClientTls>>,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Cluster {
    /// Starts the event loop; nothing is asked yet.
    pub fn new(address: &KeyspaceAddress) -> Result<Cluster, CopyError> {
        let failed = |error: std::io::Error| {
            CopyError::Refused(format!("cannot start an event loop: {error}"))
        };
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = Builder::new()
            .name("copy cluster".to_owned())
            // It ends when the sender is dropped, which is an error to nobody.
            .spawn(move || drop(runtime.block_on(stopped)))
            .map_err(failed)?;
        let tls = if *address.tls() == ClientFiles::default() {
            None
        } else {
            let tls = Client::tls(address.tls().clone());
            Some(tls.map_err(|error| CopyError::Refused(error.to_string()))?)
        };
        Ok(Cluster {
            address: address.clone(),
            tls,
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The keyspace, for connection `number`: each begins with another server.
    pub fn keyspace(&self, number: usize) -> Result<Keyspace, CopyError> {
        Ok(self.client(number)?.keyspace(self.address.name()))
    }

    fn client(&self, number: usize) -> Result<Client, CopyError> {
        let servers = self.address.servers_from(number);
        let client = Client::with_timeout(&servers, ANSWER_TIMEOUT);
        let client = match &self.tls {
            None => client,
            Some(tls) => client.map(|client| client.over_tls(tls)),
        };
        let client = match self.address.credentials() {
            None => client,
            Some(credentials) => client.and_then(|client| client.as_user(credentials)),
        };
        client.map_err(CopyError::Cluster)
    }

    /// The event loop, for what is to go on meanwhile.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for what goes on there.
    pub fn answered<T>(
        &self,
        waiting: JoinHandle<Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let ended = |error| ClientError::Invalid(format!("the request has ended: {error}"));
        self.handle.block_on(waiting).map_err(ended)?
    }

    /// The error of an answer.
    pub fn failed(&self, error: ClientError) -> CopyError {
        match error {
            ClientError::NotFound(_) => CopyError::NoKeyspace {
                name: self.address.name().to_owned(),
                servers: self.address.servers(),
            },
            error => CopyError::Cluster(error),
        }
    }

    /// What the keyspace is, asked patiently.
    pub fn describe(
        &self,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<KeyspaceDescription, CopyError> {
        let client = self.client(0)?;
        let name = self.address.name();
        let missing = || ClientError::NotFound(String::new());
        self.patiently(settings, watch, async || {
            client.describe_keyspace(name).await?.ok_or_else(missing)
        })
    }

    /// Whether there is no pair in it, asked patiently.
    pub fn is_empty(&self, settings: &Settings, watch: &Watch) -> Result<bool, CopyError> {
        let keyspace = self.keyspace(0)?;
        let first = Range {
            limit: Some(1),
            ..Range::default()
        };
        self.patiently(settings, watch, async || {
            let mut scan = keyspace.scan(&first, Quorum::default()).await?;
            Ok(scan.next().await?.is_none())
        })
    }

    fn patiently<T>(
        &self,
        settings: &Settings,
        watch: &Watch,
        ask: impl AsyncFn() -> Result<T, ClientError>,
    ) -> Result<T, CopyError> {
        let mut patience = Patience::new(settings.retry_for);
        loop {
            match self.handle.block_on(ask()) {
                Ok(answer) => return Ok(answer),
                Err(error) => patience.bear(self.failed(error), watch)?,
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Nothing in it can panic that did not already do so where it was asked for.
            let _ = thread.join();
        }
    }
}
