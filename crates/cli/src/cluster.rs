//! Nodes in this process: started in order, stopped together, a failed start leaving none behind.

use std::path::PathBuf;
use std::sync::Arc;

use dunlin_changes::Changes;
use dunlin_links::{Links, Times};
use dunlin_metadata::Metadata;
use dunlin_node::plug::Plug;
use dunlin_node::{Node, NodeConfig, Process, StartError, Superseded};
use dunlin_ranges::{Limits, Ranges};
use dunlin_store::CacheSizes;
use dunlin_views::{Engines, Views};

use crate::config::room::Room;
use crate::failure::Failure;
use crate::link_transport::HttpLinks;
use crate::lock::DirectoryLock;

/// What plugs into a node, with the bounds of transactions and the file of logins to other clusters.
pub fn plugs(transactions: Limits, link_logins: Option<PathBuf>) -> Vec<Arc<dyn Plug>> {
    let http = HttpLinks {
        logins: link_logins,
    };
    vec![
        Arc::new(Changes),
        Arc::new(Views(Engines::Processes)),
        Arc::new(Ranges(transactions)),
        Arc::new(Links {
            connect: Arc::new(http),
            times: Times::default(),
        }),
    ]
}

/// Running nodes and the locks on their data.
pub struct Cluster {
    nodes: Vec<Node>,
    process: Process,
    // Held until all nodes have stopped.
    locks: Vec<DirectoryLock>,
}

impl Cluster {
    /// Starts nodes, each with its data locked; they share what nodes of one process can share:
    /// their caches, at most `event_loops` threads for their shards, and the `room` for clients.
    pub async fn start(
        configs: Vec<(NodeConfig, DirectoryLock)>,
        metadata: &Metadata,
        caches: CacheSizes,
        event_loops: usize,
        room: Room,
    ) -> Result<Cluster, Failure> {
        let process = Process::new(caches, event_loops)
            .map_err(|error| Failure::Failed(error.to_string()))?
            .with_bounds(room.bounds, room.open_files);
        let mut cluster = Cluster {
            nodes: Vec::new(),
            process,
            locks: Vec::new(),
        };
        for (config, lock) in configs {
            cluster.locks.push(lock);
            let name = config.name.clone();
            match Node::start(config, metadata.clone(), &cluster.process).await {
                Ok(node) => cluster.nodes.push(node),
                Err(error) => {
                    let failure = match error {
                        // A service manager that tried again would only be refused again.
                        StartError::Running { .. } => Failure::Superseded(error.to_string()),
                        error => Failure::Failed(format!("node {name}: {error}")),
                    };
                    // The reason of the failed start matters more than one of stopping the rest.
                    let _ = cluster.stop().await;
                    return Err(failure);
                }
            }
        }
        Ok(cluster)
    }

    /// The nodes, in the order of their start.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Resolves when one of the nodes runs in another process too.
    pub async fn superseded(&self) -> Superseded {
        let mut superseded = self.process.superseded();
        let by = superseded.wait_for(Option::is_some).await;
        match by.ok().flatten() {
            Some(by) => by,
            // The process tells it for as long as there are nodes.
            None => std::future::pending().await,
        }
    }

    /// Stops all nodes; the first failure is told after all were asked.
    pub async fn stop(self) -> Result<(), Failure> {
        let mut result = Ok(());
        for node in self.nodes {
            let name = node.name().to_owned();
            if let Err(error) = node.stop().await {
                let failure = Failure::Failed(format!("stopping node {name}: {error}"));
                result = result.and(Err(failure));
            }
        }
        drop(self.locks);
        result
    }
}
