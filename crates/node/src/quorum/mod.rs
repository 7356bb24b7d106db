//! Coordinating a request: any shard of any node can, for any key.

mod abreast;
mod attempt;
mod bulk;
pub(crate) mod decide;
mod enter;
mod error;
mod mend;
mod merge;
mod read;
mod scan;
mod walks;
mod widen;
mod write;

pub(crate) use attempt::Window;
pub use bulk::AlreadyThere;
pub use decide::Quorum;
pub use error::Failure;
pub use mend::{FarRecord, MendError, Mended};
pub use scan::Scan;

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use dunlin_store::Merge;
use tokio::time::Instant;

use walks::Walks;
use widen::Widening;

use crate::limits::SWEEP_INTERVAL;
use crate::plug::Transactional;
use crate::shard::Shard;

/// Where requests of clients are carried out, wherever their replicas are.
pub struct Coordinator {
    shard: Rc<Shard>,
    /// What is being widened.
    widening: Widening,
    /// Serves keyspaces whose replicas agree before they write.
    ranges: OnceCell<Rc<dyn Transactional>>,
    /// Walks over the store that scans may go on with.
    walks: Arc<Mutex<Walks<Merge>>>,
}

impl Coordinator {
    /// Of a shard.
    pub(crate) fn new(shard: Rc<Shard>) -> Rc<Coordinator> {
        Rc::new(Coordinator {
            shard,
            widening: Widening::default(),
            ranges: OnceCell::new(),
            walks: Arc::default(),
        })
    }

    /// Begins its duties.
    pub(crate) fn run(self: &Rc<Self>) {
        let coordinator = self.clone();
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(SWEEP_INTERVAL).await;
                coordinator.expire_walks(Instant::now());
            }
        });
    }

    /// Has transactional keyspaces served from now on.
    pub(crate) fn set_ranges(&self, ranges: Rc<dyn Transactional>) {
        // There is one capability of this kind.
        let _ = self.ranges.set(ranges);
    }

    /// Who serves transactional keyspaces, if there are any.
    pub(crate) fn ranges(&self) -> Option<&Rc<dyn Transactional>> {
        self.ranges.get()
    }

    /// Who serves this one, where it is transactional.
    pub(crate) fn ranges_of(&self, keyspace: u32) -> Option<&Rc<dyn Transactional>> {
        let placement = self.shard.placement();
        let is_one = placement.transactional().contains_key(&keyspace);
        self.ranges().filter(|_| is_one)
    }

    /// The shard.
    pub fn shard(&self) -> &Rc<Shard> {
        &self.shard
    }
}
