//! Changes of the members: what a shard takes over, and how the cluster gets there.
//!
//! | file | duty |
//! |---|---|
//! | `plan` | pure: which records a shard takes over from which old replica |
//! | `fill` | copies them: stored records first, then what the old replica's log has had since |
//! | `take` | puts them on disk: as files where nothing is in their way; backfills do, too |
//! | `serve` | the old replica's side |
//! | `journal` | how far a copy has come, over restarts |
//! | `pace` | pure: how fast it may go while clients wait no longer than they are promised |
//! | `conduct` | pure: when the next phase may begin; and its beginning |
//! | `sweep` | dropping what others hold now |
//! | `state` | what a shard tells of all this |
//!
//! The phases are those of [`dunlin_metadata::Phase`]. A new replica takes the place of one old
//! one and inherits whatever that one holds, so that every quorum of old replicas is one of new
//! replicas, too (decision 19).

mod conduct;
mod fill;
mod journal;
mod pace;
mod plan;
mod serve;
mod state;
mod sweep;
mod take;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use tokio::time::Instant;

use crate::placement::Placement;
use crate::rate::Rate;
use crate::shard::Shard;
use fill::Fill;
use pace::Pace;

pub(crate) use conduct::waits_for;
pub use state::MoveState;
pub(crate) use take::expect_ingested;

/// A shard's part in a change of the members.
pub(crate) struct Moves {
    /// What it takes over in the change under way.
    fill: RefCell<Fill>,
    pace: RefCell<Pace>,
    /// What it copies.
    pub rate: Rate,
    /// No record in files that were taken over has a greater version.
    ingested: Cell<Version>,
    /// Up to which change everything has been dropped; `None` before the store was asked.
    swept: Cell<Option<u64>>,
    /// When the members last came to rest here.
    rested: Cell<Option<Instant>>,
    /// The placement before that, if it was seen.
    before: RefCell<Option<Rc<Placement>>>,
}

impl Moves {
    /// Of a shard that keeps its clients' 99th percentile at `latency_us_p99`, with `ingested` the
    /// greatest version that files may have brought into its store.
    pub fn new(latency_us_p99: u64, ingested: Version) -> Moves {
        Moves {
            fill: RefCell::default(),
            pace: RefCell::new(Pace::new(latency_us_p99)),
            rate: Rate::default(),
            ingested: Cell::new(ingested),
            swept: Cell::new(None),
            rested: Cell::new(None),
            before: RefCell::default(),
        }
    }

    /// Takes note of a new placement.
    pub fn adopted(&self, before: &Rc<Placement>, now: &Placement) {
        let is_another = before.change.is_some() && before.changes != now.changes;
        if is_another || before.change.is_some() && now.change.is_none() {
            *self.before.borrow_mut() = Some(before.clone());
        }
        if now.change.is_some() {
            self.rested.set(None);
        } else if before.change.is_some() || self.rested.get().is_none() {
            self.rested.set(Some(Instant::now()));
        }
    }

    /// Whether nothing that was asked by the members before can still be under way.
    fn has_rested(&self, for_: Duration) -> bool {
        self.rested
            .get()
            .is_some_and(|since| since.elapsed() >= for_)
    }
}

impl Shard {
    /// Waits after moving `bytes`, begun at `begun`, for as long as clients want it; those of the
    /// other shard concerned wait `their_latency_us`.
    async fn keep_pace(&self, bytes: usize, begun: Instant, their_latency_us: u64) {
        let latency_us = self.latency.p99_us().max(their_latency_us);
        let spent = begun.elapsed();
        let pause = self.moves.pace.borrow_mut().pause(bytes, spent, latency_us);
        tokio::time::sleep(pause).await;
    }
}
