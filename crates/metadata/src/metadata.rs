//! The handle on a cluster's metadata, whichever store is behind it.
use crate::error::MetadataError;
use crate::etcd::Etcd;
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::local::Local;
use crate::node::{NodeRecord, Registration};
use crate::topology::Topology;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// A cluster's metadata. Clones share one store; all threads of a process may use them.
#[derive(Clone)]
pub struct Metadata(Store);

#[derive(Clone)]
enum Store {
    Local(Arc<Local>),
    Etcd(Arc<Etcd>),
}

impl Metadata {
    /// The metadata of a cluster within one process, kept in the JSON file at `path`. Opened once
    /// and shared by cloning: a second opening fails with `Locked`.
    pub fn embedded(path: impl AsRef<Path>) -> Result<Self, MetadataError> {
        Ok(Self(Store::Local(Arc::new(Local::embedded(
            path.as_ref(),
        )?))))
    }

    /// The metadata of a cluster within one process, gone with its last clone. Touches no file.
    pub fn in_memory() -> Self {
        Self(Store::Local(Arc::new(Local::in_memory())))
    }

    /// The metadata in etcd at `etcd://host:port[,host:port...]`.
    ///
    /// The last topology seen is kept in the file `cache`, if there is one. When etcd does not
    /// answer within 3 s, that topology is served and a background task on this runtime goes on
    /// trying for ever; without one this fails with `Unavailable`.
    pub async fn etcd(endpoints: &str, cache: Option<PathBuf>) -> Result<Self, MetadataError> {
        Ok(Self(Store::Etcd(Arc::new(
            Etcd::open(endpoints, cache).await?,
        ))))
    }

    /// Registers a start of the node `name`. Its id stays with the name; its incarnation is
    /// greater than any before and not below `at_least_incarnation`.
    pub async fn register(
        &self,
        name: &str,
        http: &str,
        listen: &str,
        shards: u16,
        at_least_incarnation: u32,
    ) -> Result<NodeRecord, MetadataError> {
        let node = Registration {
            name,
            http,
            listen,
            shards,
            at_least_incarnation,
        };
        match &self.0 {
            Store::Local(local) => local.change(|document| document.register(node)).await,
            Store::Etcd(etcd) => etcd.register(node).await,
        }
    }

    /// Makes a keyspace. Fails with `Exists` when there is one of this name, whatever its settings.
    pub async fn create_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        match &self.0 {
            Store::Local(local) => {
                local
                    .change(|document| document.create_keyspace(name, settings))
                    .await
            }
            Store::Etcd(etcd) => etcd.create_keyspace(name, settings).await,
        }
    }

    /// The keyspace of this name, made with `settings` if there is none. One that exists keeps its
    /// own settings.
    pub async fn ensure_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        match &self.0 {
            Store::Local(local) => {
                let ensure =
                    |document: &mut crate::document::Document| match document.keyspace(name) {
                        Some(keyspace) => Ok(keyspace.clone()),
                        None => document.create_keyspace(name, settings),
                    };
                local.change(ensure).await
            }
            Store::Etcd(etcd) => etcd.ensure_keyspace(name, settings).await,
        }
    }

    /// Forgets a keyspace. Its id is never used again.
    pub async fn drop_keyspace(&self, name: &str) -> Result<(), MetadataError> {
        match &self.0 {
            Store::Local(local) => local.change(|document| document.drop_keyspace(name)).await,
            Store::Etcd(etcd) => etcd.drop_keyspace(name).await,
        }
    }

    /// The topology and all that follow. A change made through this handle is seen here when its
    /// call returns, if the store can be reached.
    pub fn topology(&self) -> watch::Receiver<Arc<Topology>> {
        match &self.0 {
            Store::Local(local) => local.topology(),
            Store::Etcd(etcd) => etcd.topology(),
        }
    }
}
