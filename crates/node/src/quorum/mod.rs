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

pub use decide::Quorum;
pub use error::Failure;
pub use mend::{FarRecord, MendError, Mended};
pub use scan::Scan;

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use dunlin_store::Merge;
use tokio::time::Instant;

use walks::Walks;
use widen::Widening;

use crate::limits::SWEEP_INTERVAL;
use crate::shard::Shard;

/// Where requests of clients are carried out, wherever their replicas are.
pub struct Coordinator {
    shard: Rc<Shard>,
    /// What is being widened.
    widening: Widening,
    /// Walks over the store that scans may go on with.
    walks: Arc<Mutex<Walks<Merge>>>,
}

impl Coordinator {
    /// Of a shard.
    pub(crate) fn new(shard: Rc<Shard>) -> Rc<Coordinator> {
        Rc::new(Coordinator {
            shard,
            widening: Widening::default(),
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

    /// The shard.
    pub fn shard(&self) -> &Rc<Shard> {
        &self.shard
    }
}
