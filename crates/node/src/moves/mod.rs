//! Changes of the members: what a shard takes over, and how the cluster gets there.
//!
//! | file | duty |
//! |---|---|
//! | `plan` | pure: which records a shard takes over from which old replica |
//! | `books` | what is copied in one change, and how far each part has come |
//! | `fill` | the rounds: stored records, then what the old replicas' logs have had since |
//! | `parts` | stored records by pages, several partitions at once |
//! | `tail` | that log, beside the copy and after it |
//! | `level` | whether this shard has what the next phase asks for |
//! | `claim` | what its vector may say of what it inherited |
//! | `serve` | the old replica's side |
//! | `journal` | how far a copy has come, over restarts |
//! | `conduct` | pure: when the next phase may begin; and its beginning |
//! | `sweep` | dropping what others hold now |
//! | `state` | what a shard tells of all this |
//!
//! The phases are those of [`dunlin_metadata::Phase`]. A new replica takes the place of one old
//! one and inherits whatever that one holds, so that every quorum of old replicas is one of new
//! replicas, too (decision 19).

mod books;
mod claim;
mod conduct;
mod fill;
mod journal;
mod level;
mod parts;
mod plan;
mod serve;
mod state;
mod sweep;
mod tail;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use books::Fill;
use dunlin_metadata::Phase;
use tokio::time::Instant;

use crate::follow::{Class, Holder, Pace};
use crate::limits::SWEEP_INTERVAL;
use crate::placement::Placement;
use crate::rate::Rate;
use crate::shard::{Observer, Shard};

pub(crate) use conduct::waits_for;
pub use state::MoveState;

/// A shard's part in changes of the members.
pub(crate) struct Moves {
    shard: Rc<Shard>,
    /// What it takes over in the change under way.
    fill: RefCell<Fill>,
    pace: RefCell<Pace>,
    /// Up to when pages were paced: several are under way at once, and share one rate.
    paced: Cell<Instant>,
    /// What it copies.
    rate: Rate,
    /// When the tails of logs were last read beside the copy.
    tails_read: Cell<Option<Instant>>,
    /// Up to which change everything has been dropped; `None` before the store was asked.
    swept: Cell<Option<u64>>,
    /// When the members last came to rest here.
    rested: Cell<Option<Instant>>,
    /// The placement before that, if it was seen.
    before: RefCell<Option<Rc<Placement>>>,
}

impl Moves {
    /// Of a shard that does not run yet.
    pub fn new(shard: Rc<Shard>) -> Rc<Moves> {
        let latency_us_p99 = shard.config().move_latency_us_p99;
        let moves = Rc::new(Moves {
            shard,
            fill: RefCell::default(),
            pace: RefCell::new(Pace::new(latency_us_p99)),
            paced: Cell::new(Instant::now()),
            rate: Rate::default(),
            tails_read: Cell::new(None),
            swept: Cell::new(None),
            rested: Cell::new(None),
            before: RefCell::default(),
        });
        let observer: Rc<dyn Observer> = moves.clone();
        moves.shard.heed(&observer);
        // Who copied from the life before has yet to say so again.
        let before = Holder {
            class: Class::Move,
            keyspace: None,
            name: "whoever copied before its start".into(),
        };
        moves.shard.pins().hold(before, 0, Instant::now());
        moves
    }

    /// Begins its duties.
    pub fn run(self: &Rc<Self>) {
        tokio::task::spawn_local(self.clone().move_loop());
        tokio::task::spawn_local(self.clone().rate_loop());
        if self.shard.address().shard == 0 {
            tokio::task::spawn_local(self.clone().conduct_loop());
        }
    }

    /// Keeps up how fast it copies.
    async fn rate_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            self.rate.tick(Instant::now());
        }
    }

    /// Whether nothing that was asked by the members before can still be under way.
    fn has_rested(&self, for_: Duration) -> bool {
        self.rested
            .get()
            .is_some_and(|since| since.elapsed() >= for_)
    }

    /// Waits after moving `bytes`, begun at `begun`, for as long as clients want it; those of the
    /// other shard concerned wait `their_latency_us`.
    async fn keep_pace(&self, bytes: usize, begun: Instant, their_latency_us: u64) {
        let pause = self.pause(bytes, begun.elapsed(), their_latency_us);
        tokio::time::sleep(pause).await;
    }

    /// The same after a page, one of several that are under way at once.
    async fn keep_pace_together(&self, bytes: usize, their_latency_us: u64) {
        let now = Instant::now();
        let spent = now.saturating_duration_since(self.paced.get());
        let pause = self.pause(bytes, spent, their_latency_us);
        self.paced.set(self.paced.get().max(now) + pause);
        tokio::time::sleep_until(self.paced.get()).await;
    }

    fn pause(&self, bytes: usize, spent: Duration, their_latency_us: u64) -> Duration {
        let latency_us = self.shard.latency().p99_us().max(their_latency_us);
        self.pace.borrow_mut().pause(bytes, spent, latency_us)
    }
}

impl Observer for Moves {
    fn has_placement(&self, before: &Rc<Placement>, now: &Placement) {
        let is_another = before.change.is_some() && before.changes != now.changes;
        if is_another || before.change.is_some() && now.change.is_none() {
            *self.before.borrow_mut() = Some(before.clone());
        }
        if !reads_tails(now) {
            self.shard.pins().end(Class::Move);
        }
        if now.change.is_some() {
            self.rested.set(None);
        } else if before.change.is_some() || self.rested.get().is_none() {
            self.rested.set(Some(Instant::now()));
        }
    }

    fn parts_left(&self) -> u64 {
        let change = self.shard.placement().change.as_ref().map(|c| c.id);
        let fill = self.fill.borrow();
        if change == Some(fill.change) {
            fill.parts().saturating_sub(fill.parts_done())
        } else {
            0
        }
    }
}

/// Whether logs are read for what is taken over.
fn reads_tails(placement: &Placement) -> bool {
    let change = placement.change.as_ref();
    change.is_some_and(|change| change.phase < Phase::Switch)
}
