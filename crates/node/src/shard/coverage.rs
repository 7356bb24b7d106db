//! What this shard notes of its coverage: on disk before records come in beside the log, before a partition
//! is no longer whole, and before deletes are forgotten. Decision 41.

use std::cell::{Cell, Ref, RefCell};

use dunlin_entry::{Vector, Version};
use dunlin_proto::Place;
use tokio::sync::Mutex;

use super::Shard;
use crate::follow::{Coverage, Note};
use crate::limits::KNOWN_FOR;
use crate::sabotage::Sabotage;

/// What deletes are noted to be forgotten is rounded up by about a minute, so that it is seldom written.
const SLACK: u64 = (1 << 32) - 1;

/// A shard's coverage, and what of it is on disk.
pub(super) struct Covering {
    state: RefCell<Coverage>,
    writing: Mutex<()>,
    /// Copies that the note on disk names.
    noted_strays: RefCell<Vector>,
    /// Up to which stamp deletes may have been forgotten in this life.
    known: Cell<Version>,
    /// Up to which it was noted of all keyspaces when the shard was opened.
    found: Coverage,
}

impl Covering {
    /// As it was found.
    pub fn new(coverage: Coverage) -> Covering {
        Covering {
            noted_strays: RefCell::new(coverage.strays.clone()),
            writing: Mutex::new(()),
            known: Cell::default(),
            found: coverage.clone(),
            state: RefCell::new(coverage),
        }
    }
}

impl Shard {
    /// From where on the log serves which partition.
    pub(crate) fn coverage(&self) -> Ref<'_, Coverage> {
        self.covering.state.borrow()
    }

    /// To be called, and waited for, before records come in beside the log, or the vector is made to name
    /// what did not come through it in its place; with [`Shard::close_gap`] after it.
    pub(crate) async fn open_gap(&self) -> Result<(), String> {
        if self.env.sabotage == Sabotage::HideGaps {
            return Ok(());
        }
        self.covering.state.borrow_mut().open();
        let noted = self.note_coverage().await;
        if noted.is_err() {
            self.covering.state.borrow_mut().unopen();
        }
        noted
    }

    /// They are in. Who has all that the vector and `also` name has them, too; `None` where they came in
    /// part.
    pub(crate) async fn close_gap(&self, also: Option<&Vector>) {
        if self.env.sabotage == Sabotage::HideGaps {
            return;
        }
        let needs = also.map(|also| self.needs(also));
        {
            let mut state = self.covering.state.borrow_mut();
            state.came_without(self.newest(needs.as_ref()));
            state.close(self.log.last(), needs);
        }
        if let Err(error) = self.note_coverage().await {
            // On disk the gap is open, which says less.
            tracing::warn!(error, "what the log covers is not noted");
        }
    }

    /// Partitions are about to be taken over, or to go.
    pub(crate) async fn uncover(&self, places: Vec<Place>) -> Result<(), String> {
        let is_news = self.env.sabotage != Sabotage::HideGaps
            && self.covering.state.borrow_mut().leave(places);
        if is_news {
            self.note_coverage().await
        } else {
            Ok(())
        }
    }

    /// Partitions are here, whole. Who has all that the vector and `also` name has what came of them; `None`
    /// where that is not known.
    pub(crate) async fn cover(
        &self,
        places: Vec<Place>,
        also: Option<&Vector>,
    ) -> Result<(), String> {
        let needs = also.map(|also| self.needs(also));
        let is_news = {
            let mut state = self.covering.state.borrow_mut();
            let newest = self.newest(needs.as_ref());
            let is_news = state.arrive(places, self.log.last(), needs);
            if is_news {
                state.came_without(newest);
            }
            is_news
        };
        if is_news {
            self.note_coverage().await
        } else {
            Ok(())
        }
    }

    /// Partitions that clients read here and that are not noted to be here are: what there is of them is
    /// what they are shown.
    pub(crate) async fn cover_read(&self) -> Result<(), String> {
        let placement = self.placement();
        if placement.change.is_some() || !self.answers() {
            return Ok(());
        }
        let is_read = |place: &Place| {
            placement.keyspace(place.keyspace).is_some_and(|k| {
                let replicas = k.replicas(place.partition, k.keyspace.settings.replicas);
                replicas.contains(&self.address)
            })
        };
        let read: Vec<Place> = self.coverage().away().filter(is_read).collect();
        if read.is_empty() {
            Ok(())
        } else {
            self.cover(read, None).await
        }
    }

    /// No delete that who gave this had forgotten has a greater stamp: all of them were named by its vector.
    fn newest(&self, needs: Option<&Vector>) -> Version {
        match needs {
            Some(needs) => needs.iter().map(|(_, v)| v).max().unwrap_or_default(),
            None => self.clock.limit(),
        }
    }

    fn needs(&self, also: &Vector) -> Vector {
        let mut needs = self.vector();
        needs.merge(also);
        needs
    }

    /// The newest of each origin that came as copies and that the vector does not name.
    pub(crate) fn stray_copies(&self) -> Vector {
        let vector = self.vector.borrow();
        let mut came = self.copies.newest();
        came.merge(&self.coverage().strays);
        came.iter()
            .filter(|(origin, version)| *version > vector.get(*origin))
            .collect()
    }

    /// To be called before the store is flushed: a restart finds such copies again only in what of the log
    /// the store lacks.
    pub(super) async fn note_strays(&self) -> Result<(), String> {
        let strays = self.stray_copies();
        if self.covering.noted_strays.borrow().covers(&strays) {
            return Ok(());
        }
        self.note_coverage().await
    }

    /// Notes that deletes up to `known` may be forgotten, where their keyspace's grace is over; answers up to
    /// where that is noted.
    pub(super) async fn note_forgetting(&self, known: Option<Version>) -> Option<Version> {
        let known = known?;
        let up_to: Vec<_> = self.forgetting(known, KNOWN_FOR.as_millis() as u64);
        let is_news = {
            let mut state = self.covering.state.borrow_mut();
            state.forget(up_to, SLACK)
        };
        if is_news && let Err(error) = self.note_coverage().await {
            tracing::warn!(error, "deletes are not forgotten");
            return None;
        }
        // While it was written, members may have begun to change.
        let known = self.deletes_known()?.min(known);
        self.covering
            .known
            .set(self.covering.known.get().max(known));
        Some(known)
    }

    /// Of each keyspace, up to which stamp deletes are forgotten within so many milliseconds when all know
    /// those up to `known`.
    fn forgetting(&self, known: Version, within_ms: u64) -> Vec<(u32, Version)> {
        let now_ms = self.clock.now_ms().saturating_add(within_ms);
        let placement = self.placement();
        let forgotten = placement.keyspaces().map(|k| {
            let grace_ms = k.keyspace.settings.tombstone_grace_s.saturating_mul(1_000);
            let over = Version::new(now_ms.saturating_sub(grace_ms), u16::MAX);
            (k.keyspace.id, known.min(over))
        });
        forgotten.collect()
    }

    /// No delete of a keyspace with a greater version has been forgotten here, or by who gave what came in:
    /// an upper bound, for where a follower begins. See [`Shard::forgotten_by_all`].
    pub(crate) fn forgotten(&self, keyspace: u32) -> Version {
        let noted = self.covering.found.forgotten(keyspace);
        let noted = noted.max(self.coverage().forgotten_of_all());
        let noted = noted.min(self.forgettable(keyspace));
        noted.max(self.forgetting_now(keyspace))
    }

    /// No replica has forgotten a delete of a keyspace with a greater version: the grace period of such deletes is
    /// not over by any clock. It is the same for as long as the keyspace is there.
    fn forgettable(&self, keyspace: u32) -> Version {
        let placement = self.placement();
        let settings = placement.keyspace(keyspace).map(|k| &k.keyspace.settings);
        let grace_s = settings.map_or(0, |settings| settings.tombstone_grace_s);
        let limit_ms = self.clock.limit().millis();
        let over_ms = limit_ms.saturating_sub(grace_s.saturating_mul(1_000));
        Version::new(over_ms, u16::MAX)
    }

    /// Deletes of a keyspace up to this version have reached every member, and their grace period is over:
    /// no replica gives out anything older of their keys. Deletes that a backfill may have left out do not count.
    pub(crate) fn forgotten_by_all(&self, keyspace: u32) -> Version {
        match self.env.sabotage {
            Sabotage::PromiseByGap => self.forgotten(keyspace),
            _ => self.forgetting_now(keyspace),
        }
    }

    fn forgetting_now(&self, keyspace: u32) -> Version {
        let now = self.forgetting(self.covering.known.get(), 0);
        let now = now.into_iter().find(|(id, _)| *id == keyspace);
        now.map_or(Version(0), |(_, version)| version)
    }

    /// Brings what is known to disk, off the event loop.
    async fn note_coverage(&self) -> Result<(), String> {
        // One after another: an older state must not replace a newer one.
        let _turn = self.covering.writing.lock().await;
        let strays = self.stray_copies();
        let note = {
            let placement = self.placement();
            let mut state = self.covering.state.borrow_mut();
            state.forget_keyspaces(|keyspace| placement.is_purged(keyspace));
            Note::of(&state, &strays, self.origin.incarnation())
        };
        let (disk, dir) = (self.env.disk.clone(), self.dir());
        let runner = &self.env.store_runner;
        let stored = runner.run_behind(move || note.store(&*disk, &dir));
        let stored = stored.await.map_err(|gone| gone.to_string())?;
        stored.map_err(|error| format!("what the log covers cannot be noted: {error}"))?;
        self.covering.noted_strays.replace(strays);
        Ok(())
    }
}
