//! A metadata store for simulations: one truth, and a handle for each node that may be cut off from
//! it, hear of it late, or meet it wiped or put back as it was before. Every handle runs the code
//! that a node runs on etcd (what is believed, what is kept, how a change is decided) on a cached
//! topology of its own, which stays over the node's restarts as the cache file does.
//!
//! ```
//! use dunlin_metadata::sim::SimStore;
//! let store = SimStore::new(0xd0);
//! let metadata = store.metadata("n1"); // at each start of the node
//! let copy = store.save();
//! store.wipe();
//! store.write_foreign(50);
//! assert_eq!(metadata.problems().borrow().len(), 1, "its cluster's id is gone");
//! store.put_back(&copy);
//! ```
//!
//! There are no threads, no clocks and no hash order: the same calls give the same answers. Time is
//! what [`SimStore::step`] says. A node that is not late sees each change before the call that made
//! it returns.
use crate::accept::Verdict;
use crate::change::Step;
use crate::cluster::Cluster;
use crate::error::MetadataError;
use crate::metadata::Metadata;
use crate::objects::{CLUSTER, Objects, encode};
use crate::restore::{Report, RestoreError, plan};
use crate::topology::Topology;
use crate::view::View;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The store of a simulated cluster. Clones are the same store.
#[derive(Clone)]
pub struct SimStore(Arc<Mutex<Truth>>);

/// The store as it was at some moment.
#[derive(Clone)]
pub struct Copy(Objects);

impl Copy {
    /// The store's revision then.
    pub fn revision(&self) -> u64 {
        self.0.revision
    }
}

struct Truth {
    objects: Objects,
    steps: u64,
    trusts_all: bool,
    seats: BTreeMap<String, Seat>,
}

/// A node's place at the store.
#[derive(Default)]
struct Seat {
    /// What its cache file holds.
    cache: Option<Topology>,
    /// Its process, if it has been started.
    view: Option<Arc<View>>,
    is_cut: bool,
    late_steps: u64,
    /// What it is to hear, and after which step.
    underway: VecDeque<(u64, Objects)>,
}

/// One start of a node.
pub(crate) struct Handle {
    store: SimStore,
    node: String,
    view: Arc<View>,
}

impl SimStore {
    /// A store that holds the id of a new cluster and nothing else.
    pub fn new(cluster: u128) -> Self {
        let mut objects = Objects::at(1);
        let id = encode(&Cluster::new(cluster)).unwrap_or_default();
        objects.apply(&[(CLUSTER.to_owned(), Some(id))]);
        Self(Arc::new(Mutex::new(Truth {
            objects,
            steps: 0,
            trusts_all: false,
            seats: BTreeMap::new(),
        })))
    }

    /// A store whose nodes believe whatever it says: a deliberate bug, for the simulation to find.
    pub fn trusting_all(self) -> Self {
        self.truth().trusts_all = true;
        self
    }

    /// The handle of a start of this node; one of an earlier start hears nothing more. It begins
    /// with the topology that the node has cached. A node that is cut off begins with that, even
    /// if it is an empty one.
    pub fn metadata(&self, node: &str) -> Metadata {
        let mut truth = self.truth();
        let trusts_all = truth.trusts_all;
        let objects = truth.objects.clone();
        let steps = truth.steps;
        let seat = truth.seats.entry(node.to_owned()).or_default();
        let known = seat.cache.clone().unwrap_or_default();
        let view = View::new("simulated", None, known);
        let view = Arc::new(if trusts_all {
            view.trusting_all()
        } else {
            view
        });
        seat.view = Some(view.clone());
        seat.underway.clear();
        if seat.is_cut {
            view.miss("cut off")
        } else {
            seat.send(&objects, steps)
        }
        Metadata::simulated(Handle {
            store: self.clone(),
            node: node.to_owned(),
            view,
        })
    }

    /// Cuts a node off from the store, or connects it again: it then reads everything anew. What
    /// was on its way to it is lost. Its changes fail with `Unavailable`.
    pub fn cut(&self, node: &str, is_cut: bool) {
        let mut truth = self.truth();
        let (objects, steps) = (truth.objects.clone(), truth.steps);
        let seat = truth.seats.entry(node.to_owned()).or_default();
        if std::mem::replace(&mut seat.is_cut, is_cut) == is_cut {
            return;
        }
        seat.underway.clear();
        match (is_cut, &seat.view) {
            (true, Some(view)) => view.miss("cut off"),
            (true, None) => {}
            (false, _) => seat.send(&objects, steps),
        }
    }

    /// Lets a node hear of changes `steps` steps after they were made, also of its own; 0 at first.
    /// It hears of them in their order.
    pub fn delay(&self, node: &str, steps: u64) {
        let mut truth = self.truth();
        truth.seats.entry(node.to_owned()).or_default().late_steps = steps;
    }

    /// One step of time: nodes hear what is due.
    pub fn step(&self) {
        let mut truth = self.truth();
        truth.steps += 1;
        let steps = truth.steps;
        for seat in truth.seats.values_mut() {
            seat.deliver(steps);
        }
    }

    /// Loses what a node has cached, as an empty disk does.
    pub fn forget_cache(&self, node: &str) {
        if let Some(seat) = self.truth().seats.get_mut(node) {
            seat.cache = None;
        }
    }

    /// What a node has cached.
    pub fn cached(&self, node: &str) -> Option<Topology> {
        self.truth().seats.get(node)?.cache.clone()
    }

    /// The store as it is now, for [`SimStore::put_back`].
    pub fn save(&self) -> Copy {
        Copy(self.truth().objects.clone())
    }

    /// Puts the store back as it was: an operator restores a backup. Its revisions go back, too.
    pub fn put_back(&self, copy: &Copy) {
        self.replace(copy.0.clone());
    }

    /// Loses all that the store holds.
    pub fn wipe(&self) {
        self.replace(Objects::at(1));
    }

    /// Somebody else writes to the same store: its revision grows by so many, its objects stay.
    pub fn write_foreign(&self, writes: u64) {
        let mut objects = self.truth().objects.clone();
        objects.revision += writes;
        self.replace(objects);
    }

    /// Writes an object as somebody with access to the store can; `None` deletes it. Keys are those
    /// of `docs/formats.md` without their prefix.
    pub fn write_raw(&self, key: &str, value: Option<&str>) {
        let mut objects = self.truth().objects.clone();
        let value = value.map(|value| value.as_bytes().to_vec());
        objects.apply(&[(key.to_owned(), value)]);
        self.replace(objects);
    }

    /// What a node would tell `dunlin metadata restore`, as far as its cache says it; the caller
    /// adds what it has seen in entries.
    pub fn report(&self, node: &str) -> Option<Report> {
        let view = self.truth().seats.get(node)?.view.clone();
        let problems = view.map(|view| view.problems().borrow().to_vec());
        Some(Report {
            node: node.to_owned(),
            topology: self.cached(node)?,
            problems: problems.unwrap_or_default(),
            incarnations: BTreeMap::new(),
            keyspace: 0,
            has_users: true,
        })
    }

    /// `dunlin metadata restore`: puts a lost store back from what nodes know.
    ///
    /// # Errors
    /// As the command: without a majority unless it is forced, or when the store is not lost.
    pub fn restore(&self, reports: &[Report], force: bool) -> Result<(), RestoreError> {
        let mut objects = self.truth().objects.clone();
        let (_, puts) = plan(reports, &objects, force, &Cluster::new(0))?;
        objects.apply(&puts);
        self.replace(objects);
        Ok(())
    }

    fn replace(&self, objects: Objects) {
        let mut truth = self.truth();
        truth.objects = objects;
        truth.tell_all();
    }

    fn truth(&self) -> MutexGuard<'_, Truth> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Truth {
    fn tell_all(&mut self) {
        for seat in self.seats.values_mut() {
            if !seat.is_cut {
                seat.send(&self.objects, self.steps);
            }
        }
    }
}

impl Seat {
    /// Sends what the store holds now on its way.
    fn send(&mut self, objects: &Objects, steps: u64) {
        if self.view.is_none() {
            return;
        }
        let last = self.underway.back().map_or(0, |(due, _)| *due);
        let due = last.max(steps + self.late_steps);
        self.underway.push_back((due, objects.clone()));
        self.deliver(steps);
    }

    fn deliver(&mut self, steps: u64) {
        let Some(view) = &self.view else { return };
        while let Some((due, _)) = self.underway.front()
            && *due <= steps
            && let Some((_, objects)) = self.underway.pop_front()
        {
            match view.judge(&objects) {
                Verdict::Accept(topology, problems) => {
                    self.cache = Some(topology.clone());
                    view.publish(topology, problems);
                }
                Verdict::Refuse(refusal) => view.refuse(&refusal),
            }
        }
    }
}

impl Handle {
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Makes a change, at once and by what the store holds now.
    pub fn change<T>(
        &self,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let mut truth = self.store.truth();
        let is_cut = truth.seats.get(&self.node).is_none_or(|seat| {
            let is_current = seat.view.as_ref();
            seat.is_cut || !is_current.is_some_and(|view| Arc::ptr_eq(view, &self.view))
        });
        if is_cut {
            return Err(MetadataError::Unavailable {
                endpoint: "simulated".to_owned(),
                detail: "cut off".to_owned(),
            });
        }
        let now = self.view.basis(&self.view.known(), &truth.objects)?;
        let step = decide(&now, &truth.objects)?;
        if !step.puts.is_empty() {
            truth.objects.apply(&step.puts);
            truth.tell_all();
        }
        Ok(step.value)
    }
}

#[cfg(test)]
#[path = "sim_tests.rs"]
mod tests;
