//! One node: its shards, its addresses, its start and its stop.

mod identity;
mod join;
pub(crate) mod loops;
mod running;
mod shard;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use dunlin_metadata::{Metadata, MetadataError, SHARDS_OF_NODE_MAX};
use dunlin_rpc::{QueueOptions, queue};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::config::NodeConfig;
use crate::limits::QUEUE_BYTES;
use crate::process::Process;
use crate::shard::OpenError;
use identity::Identity;
pub use identity::{cluster_of, shards_of};
use join::Whereabouts;
pub use join::fresh_cluster;
use shard::{Assigned, Ended, Incoming, Setup};

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Correct the setting.
    #[error("{0}")]
    Config(String),
    /// Choose another address, or end what uses this one.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Check the data directory's permissions and disk.
    #[error("cannot use {}: {error}", path.display())]
    Data {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Start the metadata store, or correct its address.
    #[error("{0}")]
    Metadata(#[from] MetadataError),
    /// Give this one another name, or stop the other first.
    #[error(
        "another process runs as node {node} at {listen}, and {} has no data of that node: start this \
         one with another --name, or stop the other process first",
        data.display()
    )]
    Running {
        /// The node.
        node: String,
        /// Where the other process listens for other nodes.
        listen: String,
        /// This one's directory.
        data: PathBuf,
    },
    /// A shard's data cannot be opened.
    #[error("shard {shard} of {node}: {error}")]
    Shard {
        /// The node.
        node: String,
        /// Its shard.
        shard: u16,
        /// What is wrong.
        error: Box<OpenError>,
    },
    /// A shard panicked before it was ready.
    #[error("a shard ended unexpectedly: see the log above")]
    Ended,
}

/// Why a node did not stop cleanly. What was acknowledged is in its log all the same.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// The last flush or sync failed.
    #[error("{0}")]
    Close(String),
}

/// A running node. Dropping it without [`Node::stop`] stops it without waiting.
pub struct Node {
    name: String,
    http: SocketAddr,
    stop: watch::Sender<bool>,
    shards: Vec<Ended>,
    process: Process,
    /// What is left to do about its registration.
    settling: Option<AbortHandle>,
}

impl Node {
    /// Starts the node's shards, joins the cluster and serves HTTP.
    ///
    /// # Errors
    /// When an address is taken, the data directory unusable, damaged or of another cluster, or the
    /// metadata store unreachable and nothing of it cached.
    pub async fn start(
        config: NodeConfig,
        metadata: Metadata,
        process: &Process,
    ) -> Result<Node, StartError> {
        if config.shards == 0 || config.shards > SHARDS_OF_NODE_MAX {
            return Err(StartError::Config(format!(
                "shards must be from 1 to {SHARDS_OF_NODE_MAX}, not {}",
                config.shards
            )));
        }
        let mut identity = Identity::load(&config)?;
        running::refuse(&config, &metadata, &identity).await?;
        let http = listen_http(&config.http).await?;
        let http_address = http.local_addr().map_err(|error| StartError::Listen {
            address: config.http.clone(),
            error,
        })?;
        let (stop, stopped) = watch::channel(false);
        let config = Arc::new(config);
        let gates = watch::Sender::new(0);
        let mut shards = Vec::new();
        let mut assignments = Vec::new();
        let mut ready = Vec::new();
        let (incoming, receivers): (Vec<_>, Vec<_>) = (0..config.shards)
            .map(|_| mpsc::unbounded_channel::<Incoming>())
            .unzip();
        let (bound_tell, bound) = oneshot::channel();
        let mut front = Some((http, incoming, bound_tell));
        for (shard, receiver) in (0..config.shards).zip(receivers) {
            let (address, inbox) = queue(QueueOptions {
                queue_bytes: QUEUE_BYTES,
                ..QueueOptions::default()
            });
            // Known before the cluster learns of the node, or others of this process would dial it.
            process.directory.add(&config.name, shard, address);
            let (assign, assigned) = oneshot::channel();
            let (ready_tell, ready_told) = oneshot::channel();
            assignments.push(assign);
            ready.push(ready_told);
            shards.push(shard::spawn(Setup {
                config: config.clone(),
                shard,
                metadata: metadata.clone(),
                process: process.clone(),
                inbox,
                incoming: receiver,
                front: front.take(),
                assigned,
                ready: ready_tell,
                stopped: stopped.clone(),
                gates: gates.clone(),
            })?);
        }
        let mut node = Node {
            name: config.name.clone(),
            http: http_address,
            stop,
            shards,
            process: process.clone(),
            settling: None,
        };
        let listen = bound.await.map_err(|_| StartError::Ended)??;
        let advertised = config.advertise_http.clone();
        let advertised = advertised.unwrap_or_else(|| http_address.to_string());
        let place = Whereabouts {
            // Without a scheme it is HTTP in the clear, as it was before there was another.
            http: match config.http_tls {
                Some(_) => format!("https://{advertised}"),
                None => advertised,
            },
            listen: config.advertise_listen.clone().unwrap_or(listen),
            shards: config.shards,
        };
        let default_keyspace = &config.default_keyspace;
        let joined = join::join(&metadata, &mut identity, &place, default_keyspace).await?;
        for assign in assignments {
            // A thread that is gone says why through `ready`.
            drop(assign.send(Assigned {
                cluster: joined.cluster,
                node: joined.node,
                incarnation: joined.incarnation,
                known_incarnation: joined.known_incarnation,
                remembered_incarnation: joined.remembered_incarnation,
            }));
        }
        for (shard, told) in (0..config.shards).zip(ready) {
            match told.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let node_name = node.name.clone();
                    node.abandon();
                    return Err(StartError::Shard {
                        node: node_name,
                        shard,
                        error: Box::new(error),
                    });
                }
                Err(_) => return Err(StartError::Ended),
            }
        }
        if let Err(error) = identity.opened() {
            tracing::warn!(%error, "the next start doubts its data once more");
        }
        let settling = tokio::spawn(join::settle(
            metadata,
            identity,
            place,
            joined,
            process.superseded(),
        ));
        node.settling = Some(settling.abort_handle());
        Ok(node)
    }

    /// Where it serves HTTP.
    pub fn http_address(&self) -> SocketAddr {
        self.http
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Finishes what is under way, tells the other nodes, flushes, syncs and ends all shards.
    ///
    /// # Errors
    /// When the last flush or sync failed.
    pub async fn stop(mut self) -> Result<(), StopError> {
        self.abandon();
        let mut result = Ok(());
        for ended in std::mem::take(&mut self.shards) {
            let closed = ended
                .await
                .unwrap_or_else(|_| Err("a shard panicked".into()));
            result = result.and(closed);
        }
        result.map_err(|text| StopError::Close(format!("{}: {text}", self.name)))
    }

    fn abandon(&mut self) {
        // One that is superseded is about to write that down, and ends by itself.
        let is_superseded = self.process.superseded.borrow().is_some();
        if let Some(settling) = self.settling.take()
            && !is_superseded
        {
            settling.abort();
        }
        self.process.directory.remove(&self.name);
        self.stop.send_replace(true);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "HTTP clients are outside the simulation"
)]
async fn listen_http(address: &str) -> Result<std::net::TcpListener, StartError> {
    let bind = async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        listener.into_std()
    };
    bind.await.map_err(|error| StartError::Listen {
        address: address.into(),
        error,
    })
}
