//! The handle on a cluster's metadata, whichever store is behind it.
use crate::error::MetadataError;
use crate::etcd::Etcd;
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::local::Local;
use crate::members::{self, Change, Decision, Phase};
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
    ///
    /// A name not seen before becomes a member when no change is under way and there are fewer
    /// members than the most replicas of any keyspace (than three while there is none). Otherwise
    /// it is spare.
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

    /// Begins a change of the members to the nodes `to`, in the phase [`Phase::Copy`]. The nodes in
    /// `dead` are gone for good.
    ///
    /// Fails with `ChangeUnderWay` while there is another, with `SameMembers` when there is nothing
    /// to do, with `TooFewNodes` when a keyspace keeps more replicas than `to` has nodes, with
    /// `UnknownNode` for an id that no node has, and with `Invalid` when `to` is empty, when a node
    /// is in both lists, or when more than 100 are dead.
    pub async fn begin_change(
        &self,
        to: Vec<u16>,
        dead: Vec<u16>,
    ) -> Result<Change, MetadataError> {
        self.change_members(|now| members::begin(now, to.clone(), dead.clone()))
            .await
    }

    /// Takes change `id` from the phase `from` to the next. After [`Phase::Settle`] it ends: `to`
    /// are the members, and the dead that are not among them are forgotten. Does nothing when the
    /// change is past `from` or has ended, so several nodes may call this at once. Fails with
    /// `NotYet` when the change has not come to `from`, or was never begun.
    pub async fn advance_change(&self, id: u64, from: Phase) -> Result<(), MetadataError> {
        self.change_members(|now| members::advance(now, id, from))
            .await
    }

    /// Ends the change under way, and the members stay as they are. Fails with `NoChange` when
    /// there is none, and with `TooLate` after [`Phase::Joint`].
    pub async fn cancel_change(&self) -> Result<(), MetadataError> {
        self.change_members(members::cancel).await
    }

    /// Adds a node that died for good to the dead of the change under way. In the phases copy and
    /// joint it fails with `Needed` when the node is one of those that shall hold data; later it
    /// is no longer waited for, but stays a member. Fails with `NoChange` and `UnknownNode` too.
    pub async fn bury_in_change(&self, node: u16) -> Result<(), MetadataError> {
        self.change_members(|now| members::bury(now, node)).await
    }

    /// Forgets a spare node. Its id is never given again: if it registers once more, it is new.
    /// Fails with `IsMember`, `InChange` or `UnknownNode`.
    pub async fn forget_node(&self, name: &str) -> Result<(), MetadataError> {
        self.change_members(|now| members::forget(now, name)).await
    }

    async fn change_members<T: Send>(
        &self,
        decide: impl Fn(&Topology) -> Result<Decision<T>, MetadataError> + Send + Sync,
    ) -> Result<T, MetadataError> {
        match &self.0 {
            Store::Local(local) => {
                local
                    .change(|document| document.change_members(&decide))
                    .await
            }
            Store::Etcd(etcd) => etcd.change_members(&decide).await,
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
