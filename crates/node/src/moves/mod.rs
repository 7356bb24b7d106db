//! Changes of the members: what a shard takes over, and how the cluster gets there.
//!
//! | file | duty |
//! |---|---|
//! | `plan` | pure: which records a shard takes over from which old replica |
//! | `books` | what is copied in one change, and how far each part has come |
//! | `fill` | copies them: stored records first, then what the old replica's log has had since |
//! | `tail` | that log |
//! | `level` | whether this shard has what the next phase asks for |
//! | `claim` | what its vector may say of what it inherited |
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

mod books;
mod claim;
mod conduct;
mod fill;
mod journal;
mod level;
mod pace;
mod plan;
mod serve;
mod state;
mod sweep;
mod tail;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use books::Fill;
use pace::Pace;
use tokio::time::Instant;

use crate::limits::SWEEP_INTERVAL;
use crate::placement::Placement;
use crate::rate::Rate;
use crate::shard::{Follower, Shard};

pub(crate) use conduct::waits_for;
pub use state::MoveState;

/// A shard's part in changes of the members.
pub(crate) struct Moves {
    shard: Rc<Shard>,
    /// What it takes over in the change under way.
    fill: RefCell<Fill>,
    pace: RefCell<Pace>,
    /// What it copies.
    rate: Rate,
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
        let latency_us_p99 = shard.config.move_latency_us_p99;
        let moves = Rc::new(Moves {
            shard,
            fill: RefCell::default(),
            pace: RefCell::new(Pace::new(latency_us_p99)),
            rate: Rate::default(),
            swept: Cell::new(None),
            rested: Cell::new(None),
            before: RefCell::default(),
        });
        let follower: Rc<dyn Follower> = moves.clone();
        moves.shard.heed(&follower);
        moves
    }

    /// Begins its duties.
    pub fn run(self: &Rc<Self>) {
        tokio::task::spawn_local(self.clone().move_loop());
        tokio::task::spawn_local(self.clone().rate_loop());
        if self.shard.address.shard == 0 {
            tokio::task::spawn_local(self.clone().conduct_loop());
        }
    }

    /// Keeps up what is told of it.
    async fn rate_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            self.rate.tick(Instant::now());
            let change = self.shard.placement().change.as_ref().map(|c| c.id);
            let fill = self.fill.borrow();
            let left = match change == Some(fill.change) {
                true => fill.parts().saturating_sub(fill.parts_done()),
                false => 0,
            };
            self.shard.counters.parts_left.set(left);
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
        let latency_us = self.shard.latency.p99_us().max(their_latency_us);
        let spent = begun.elapsed();
        let pause = self.pace.borrow_mut().pause(bytes, spent, latency_us);
        tokio::time::sleep(pause).await;
    }
}

impl Follower for Moves {
    fn has_placement(&self, before: &Rc<Placement>, now: &Placement) {
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
}
