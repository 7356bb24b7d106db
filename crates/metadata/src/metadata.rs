//! The handle on a cluster's metadata, whichever store is behind it.
use crate::access::Access;
use crate::access_change::{self, AccessChange, By};
use crate::change::{self, Step};
use crate::cluster::{Cluster, Directory};
use crate::dropped::Dropped;
use crate::error::MetadataError;
use crate::etcd::{Etcd, EtcdPlace};
use crate::keyspace::{Keyspace, KeyspaceSettings};
use crate::link_record::LinkChange;
use crate::local::Local;
use crate::members::{self, Change, Decision, Phase};
use crate::node::{NodeRecord, Registration};
use crate::objects::Objects;
use crate::range::{RangeRecord, RangeReplica, RangeReplicas};
use crate::range_plan::{check_left, with_replicas};
use crate::recovery::Recover;
use crate::retarget::Retarget;
use crate::retention::Retention;
use crate::sim;
use crate::topology::Topology;
use crate::view::View;
use crate::view_record::ViewChange;
use crate::watcher::Watcher;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cluster's metadata. Clones share one store; all threads of a process may use them.
#[derive(Clone)]
pub struct Metadata(Store);

#[derive(Clone)]
enum Store {
    Local(Arc<Local>),
    Etcd(Arc<Etcd>),
    Sim(Arc<sim::Handle>),
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

    /// The metadata in etcd at `etcd://host:port[,host:port...]`, for a node whose data directory is
    /// of `cluster`, if it is of any yet.
    ///
    /// The last topology seen is kept in the file `cache`, if there is one. When etcd does not
    /// answer within 3 s, or has lost its memory, that topology is served and a background task on
    /// this runtime goes on trying for ever; without one this fails with `Unavailable` or `Refused`.
    pub async fn etcd(
        place: impl Into<EtcdPlace>,
        cache: Option<PathBuf>,
        cluster: Option<String>,
    ) -> Result<Self, MetadataError> {
        let etcd = Etcd::open(place.into(), cache, cluster).await?;
        Ok(Self(Store::Etcd(Arc::new(etcd))))
    }

    /// A handle on the store of a simulation.
    pub(crate) fn simulated(handle: sim::Handle) -> Self {
        Self(Store::Sim(Arc::new(handle)))
    }

    /// Looks whether the data directory belongs to the store's cluster, and says which that is. A
    /// store that has none yet begins the cluster `fresh`: an empty one for an empty directory, one
    /// of a version without ids for a node that it knows. `None` while such a store waits for that.
    pub async fn join_cluster(
        &self,
        directory: Directory<'_>,
        fresh: &Cluster,
    ) -> Result<Option<Cluster>, MetadataError> {
        self.change(|now, _| change::join_cluster(now, directory, fresh))
            .await
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
        self.change(|now, store| change::register(now, store, node))
            .await
    }

    /// Tells of a node that has started without the store, as number `id` with `incarnation`.
    /// Fails with `Superseded` when there has been a later start of it.
    pub async fn announce(
        &self,
        name: &str,
        http: &str,
        listen: &str,
        shards: u16,
        id: u16,
        incarnation: u32,
    ) -> Result<NodeRecord, MetadataError> {
        let node = Registration {
            name,
            http,
            listen,
            shards,
            at_least_incarnation: incarnation,
        };
        self.change(|now, _| change::announce(now, node, id)).await
    }

    /// Makes a keyspace. Fails with `Exists` when there is one of this name, whatever its settings.
    pub async fn create_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        self.create_keyspace_above(name, settings, 0).await
    }

    /// The same, with a number greater than `met`: the greatest that the nodes hold data of.
    pub async fn create_keyspace_above(
        &self,
        name: &str,
        settings: KeyspaceSettings,
        met: u32,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| change::create_keyspace(now, store, name, &settings, met))
            .await
    }

    /// The keyspace of this name, made with `settings` if there is none. One that exists keeps its
    /// own settings.
    pub async fn ensure_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| change::ensure_keyspace(now, store, name, &settings))
            .await
    }

    /// Notes that writes to the keyspace `id`, which has this name, ask for `widest` replicas, and
    /// that every member knows of it when they ask for up to `known`. Neither ever shrinks. Fails
    /// with `NotFound`.
    pub async fn widen_keyspace(
        &self,
        name: &str,
        id: u32,
        widest: u8,
        known: u8,
    ) -> Result<(), MetadataError> {
        self.change(|now, store| change::widen_keyspace(now, store, name, id, widest, known))
            .await
    }

    /// Sets what of the log is kept for a keyspace's followers. Fails with `NotFound` and `Invalid`.
    pub async fn alter_keyspace(
        &self,
        name: &str,
        retention: Retention,
    ) -> Result<Keyspace, MetadataError> {
        retention.check()?;
        self.change(|now, store| {
            change::alter_keyspace(now, store, name, |keyspace| {
                Ok(Keyspace {
                    retention,
                    ..keyspace.clone()
                })
            })
        })
        .await
    }

    /// Sets how many replicas each range of a transactional keyspace is to have. Fails with `NotFound`, `Invalid` and
    /// `TooFewForRange`.
    pub async fn alter_replicas(
        &self,
        name: &str,
        replicas: u8,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| {
            let step = change::alter_keyspace(now, store, name, |keyspace| {
                with_replicas(now, keyspace, replicas)
            })?;
            Ok(step.guarded_by_members())
        })
        .await
    }

    /// Changes a keyspace's views. Fails with `NotFound`, `NoView`, `ViewExists` and `Invalid`.
    pub async fn change_views(
        &self,
        name: &str,
        views: &ViewChange,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| {
            change::alter_keyspace(now, store, name, |keyspace| keyspace.with_views(views))
        })
        .await
    }

    /// Changes a keyspace's links. Fails with `NotFound`, `NoLink`, `LinkExists` and `Invalid`.
    pub async fn change_links(
        &self,
        name: &str,
        links: &LinkChange,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| {
            // A name is one in the cluster.
            if let LinkChange::Create(link) = links
                && now
                    .keyspaces
                    .iter()
                    .flat_map(|keyspace| &keyspace.links)
                    .any(|other| other.name == link.name)
            {
                return Err(MetadataError::LinkExists {
                    name: link.name.clone(),
                });
            }
            change::alter_keyspace(now, store, name, |keyspace| keyspace.with_links(links))
        })
        .await
    }

    /// Notes that a replica of each of these ranges of a keyspace was made, or that all of it were. Fails with `NotFound`.
    pub async fn ranges_made(
        &self,
        id: u32,
        made: &BTreeMap<u16, Option<RangeReplica>>,
    ) -> Result<(), MetadataError> {
        self.change_ranges(id, |range| {
            let made = made.get(&range.number);
            made.map_or_else(|| range.clone(), |made| range.with(*made))
        })
        .await
    }

    /// Publishes the replicas of ranges of a keyspace, all in one. An older configuration changes nothing. Fails with `NotFound`.
    pub async fn publish_ranges(
        &self,
        id: u32,
        now: &[RangeReplicas],
    ) -> Result<(), MetadataError> {
        self.change_ranges(id, |range| {
            let mut of_range = now.iter().filter(|now| now.number == range.number);
            let now = of_range.next();
            now.map_or_else(|| range.clone(), |now| range.published(now))
        })
        .await
    }

    async fn change_ranges(
        &self,
        id: u32,
        change: impl Fn(&RangeRecord) -> RangeRecord,
    ) -> Result<(), MetadataError> {
        self.change(|now, store| change::alter_ranges(now, store, id, &change))
            .await
            .map(drop)
    }

    /// Gives ranges the targets that they should have, by the members and by their loads; returns how many keyspaces got
    /// some.
    pub async fn plan_ranges(&self) -> Result<usize, MetadataError> {
        self.change(change::plan_ranges).await
    }

    /// Gives a range the target that an operator wants, and answers with its number. Fails with `NoTarget`.
    pub async fn retarget_range(
        &self,
        keyspace: &str,
        number: u16,
        wish: &Retarget,
    ) -> Result<u64, MetadataError> {
        self.change(|now, store| change::retarget_range(now, store, (keyspace, number), wish))
            .await
    }

    /// Has a range that has lost its majority begin again with one replica; returns its keyspace. Fails with `NoTarget`.
    pub async fn recover_range(
        &self,
        keyspace: &str,
        number: u16,
        by: &Recover,
    ) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| change::recover_range(now, store, (keyspace, number), by))
            .await
    }

    /// Takes away a keyspace whose replicas were not all made; false where they were.
    pub async fn abandon_keyspace(
        &self,
        name: &str,
        id: u32,
        now_ms: u64,
    ) -> Result<bool, MetadataError> {
        self.change(|now, _| change::abandon_keyspace(now, name, id, now_ms))
            .await
    }

    /// Takes a keyspace out of use. Its data stays until [`Metadata::purge_keyspace`], and its id is
    /// never used again. `now_ms` (since 1970) is for people to read.
    pub async fn drop_keyspace(&self, name: &str, now_ms: u64) -> Result<(), MetadataError> {
        self.change(|now, _| change::drop_keyspace(now, name, now_ms))
            .await
    }

    /// Takes the last drop of a keyspace back. Fails with `NotDropped`, with `Purged` when its data
    /// is gone, and with `NameTaken` when there is another keyspace of this name now.
    pub async fn undrop_keyspace(&self, name: &str) -> Result<Keyspace, MetadataError> {
        self.change(|now, store| change::undrop_keyspace(now, store, name))
            .await
    }

    /// Lets the data of a keyspace whose drop was seen go, for good; false when the drop was taken
    /// back.
    pub async fn purge_keyspace(&self, dropped: &Dropped) -> Result<bool, MetadataError> {
        self.change(|now, _| change::purge_keyspace(now, dropped))
            .await
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
    /// `NotYet` when the change has not come to `from`, or was never begun, and with `RangeOutside`.
    pub async fn advance_change(&self, id: u64, from: Phase) -> Result<(), MetadataError> {
        self.change_members(|now| {
            check_left(now, id, from)?;
            members::advance(now, id, from)
        })
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

    /// Changes the users, and answers with all of them as they are then; `by` whom is
    /// judged again together with the change. The first makes the cluster closed to all others. Fails with
    /// `NoLongerAdmin`, `UserExists`, `UnknownUser`, `FirstUser`, `LastAdmin` or `Invalid`.
    pub async fn change_access(
        &self,
        change: &AccessChange,
        by: By<'_>,
        now_ms: u64,
    ) -> Result<Access, MetadataError> {
        self.change(|now, store| access_change::change_access(now, store, change, by, now_ms))
            .await
    }

    async fn change_members<T>(
        &self,
        decide: impl Fn(&Topology) -> Result<Decision<T>, MetadataError> + Send + Sync,
    ) -> Result<T, MetadataError> {
        self.change(|now, store| change::change_members(now, store, &decide))
            .await
    }

    async fn change<T>(
        &self,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        match &self.0 {
            Store::Local(local) => local.change(decide).await,
            Store::Etcd(etcd) => etcd.change(decide).await,
            Store::Sim(handle) => handle.change(decide),
        }
    }

    /// The topology and all that follow. A change made through this handle is seen here when its
    /// call returns, if the store can be reached.
    pub fn topology(&self) -> Watcher<Arc<Topology>> {
        self.view().topology()
    }

    /// What is wrong with the metadata, a line each: the store is refused or does not answer,
    /// objects in it are missing or cannot be read. None when all is well.
    pub fn problems(&self) -> Watcher<Arc<Vec<String>>> {
        self.view().problems()
    }

    /// Whether the metadata store answers. While it does not, what is known of it stands, and
    /// [`Metadata::problems`] tells why.
    pub fn is_reached(&self) -> bool {
        self.view().is_reached()
    }

    /// Tells among the problems what is wrong with this node's registration; `None` when nothing is.
    pub fn tell_of_node(&self, problem: Option<String>) {
        self.view().tell_of_node(problem);
    }

    fn view(&self) -> &View {
        match &self.0 {
            Store::Local(local) => &local.view,
            Store::Etcd(etcd) => &etcd.view,
            Store::Sim(handle) => handle.view(),
        }
    }
}
