//! What one process knows of the metadata: the last topology it accepted, and what is wrong.
use crate::accept::{Refusal, Verdict, accept};
use crate::error::MetadataError;
use crate::objects::Objects;
use crate::topology::Topology;
use crate::watcher::{Shown, Watcher};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A process's view of a store, for all its threads to watch.
pub(crate) struct View {
    /// How the store is called in what is told.
    place: String,
    /// The cluster that the data directory names.
    directory: Option<String>,
    /// A deliberate bug: whatever the store says is believed.
    trusts_all: bool,
    topology: Shown<Arc<Topology>>,
    problems: Shown<Arc<Vec<String>>>,
    /// Whether the store answered when it was last asked.
    is_reached: AtomicBool,
    lines: Mutex<Lines>,
}

/// What is wrong, a line each.
#[derive(Default)]
struct Lines {
    /// With the store as a whole.
    store: Option<String>,
    /// With single objects in it.
    objects: Vec<String>,
    /// With this node's registration.
    node: Option<String>,
    /// With single members of the store.
    members: Vec<String>,
}

impl View {
    pub fn new(place: impl Into<String>, directory: Option<String>, known: Topology) -> Self {
        Self {
            place: place.into(),
            directory,
            trusts_all: false,
            topology: Shown::new(Arc::new(known)),
            problems: Shown::new(Arc::default()),
            is_reached: AtomicBool::new(true),
            lines: Mutex::default(),
        }
    }

    /// For the simulation: see decision 8.
    pub fn trusting_all(mut self) -> Self {
        self.trusts_all = true;
        self
    }

    pub fn topology(&self) -> Watcher<Arc<Topology>> {
        self.topology.watch()
    }

    pub fn problems(&self) -> Watcher<Arc<Vec<String>>> {
        self.problems.watch()
    }

    pub fn is_reached(&self) -> bool {
        self.is_reached.load(Relaxed)
    }

    /// The last topology accepted.
    pub fn known(&self) -> Arc<Topology> {
        self.topology.borrow().clone()
    }

    /// Judges what the store says beside what is known.
    pub fn judge(&self, store: &Objects) -> Verdict {
        self.judge_beside(&self.known(), store)
    }

    /// The same beside what was known before the store was read: it cannot be behind that.
    pub fn judge_beside(&self, known: &Topology, store: &Objects) -> Verdict {
        if self.trusts_all {
            return accept(&Topology::default(), None, store);
        }
        accept(known, self.directory.as_deref(), store)
    }

    /// What a change is decided by, or why there can be none.
    pub fn basis(&self, known: &Topology, store: &Objects) -> Result<Topology, MetadataError> {
        match self.judge_beside(known, store) {
            Verdict::Accept(topology, _) => Ok(topology),
            Verdict::Refuse(refusal) => Err(self.refusal(refusal)),
        }
    }

    pub fn refusal(&self, refusal: Refusal) -> MetadataError {
        MetadataError::Refused {
            place: self.place.clone(),
            refusal,
        }
    }

    /// A topology was accepted, and is kept for the next start.
    pub fn publish(&self, topology: Topology, problems: Vec<String>) {
        self.is_reached.store(true, Relaxed);
        self.audit(&topology);
        self.topology.send_if_modified(|current| {
            let changed = **current != topology;
            if changed {
                *current = Arc::new(topology);
            }
            changed
        });
        self.tell(|lines| {
            lines.store = None;
            lines.objects = problems;
        });
    }

    /// What was done to the store itself, past any node: those who can do that are not asked who
    /// they are.
    fn audit(&self, now: &Topology) {
        let known = self.known();
        let (Some(before), Some(after)) = (&known.cluster, &now.cluster) else {
            return;
        };
        if after.restores > before.restores {
            tracing::info!(
                target: "audit",
                what = "metadata restore",
                place = self.place,
                restores = after.restores,
                "audit: the metadata store was put back"
            );
        }
    }

    /// The store was refused.
    pub fn refuse(&self, refusal: &Refusal) {
        self.is_reached.store(true, Relaxed);
        let (place, revision) = (&self.place, self.known().revision);
        let line = format!(
            "metadata store {place} is refused, the topology of revision {revision} stands: {refusal}"
        );
        self.tell(|lines| lines.store = Some(line));
    }

    /// The store does not answer.
    pub fn miss(&self, detail: &str) {
        self.is_reached.store(false, Relaxed);
        let (place, revision) = (&self.place, self.known().revision);
        let line = format!(
            "metadata store {place} does not answer, the topology of revision {revision} stands: \
             {detail}"
        );
        self.tell(|lines| lines.store = Some(line));
    }

    /// What is wrong with this node's registration, if anything is.
    pub fn tell_of_node(&self, problem: Option<String>) {
        self.tell(|lines| lines.node = problem);
    }

    /// Which members of the store do not answer while others do.
    pub fn tell_of_members(&self, problems: Vec<String>) {
        self.tell(|lines| lines.members = problems);
    }

    fn tell(&self, change: impl FnOnce(&mut Lines)) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut lines);
        let single = lines.objects.iter().chain(&lines.members);
        let all = lines.store.iter().chain(&lines.node).chain(single);
        let all: Vec<String> = all.cloned().collect();
        self.problems.send_if_modified(|current| {
            let changed = **current != all;
            if changed {
                for line in all.iter().filter(|line| !current.contains(line)) {
                    tracing::warn!("{line}");
                }
                *current = Arc::new(all);
            }
            changed
        });
    }
}
