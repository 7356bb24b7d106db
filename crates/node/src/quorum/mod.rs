//! Coordinating a request: any shard of any node can, for any key.

mod attempt;
mod bulk;
pub(crate) mod decide;
mod enter;
mod error;
mod mend;
mod merge;
mod read;
mod scan;
mod widen;
mod write;

pub use decide::Quorum;
pub use error::Failure;
pub use mend::{FarRecord, MendError, Mended};
pub use scan::Scan;

use std::rc::Rc;

use widen::Widening;

use crate::shard::Shard;

/// Where requests of clients are carried out, wherever their replicas are.
pub struct Coordinator {
    shard: Rc<Shard>,
    /// What is being widened.
    widening: Widening,
}

impl Coordinator {
    /// Of a shard.
    pub(crate) fn new(shard: Rc<Shard>) -> Rc<Coordinator> {
        Rc::new(Coordinator {
            shard,
            widening: Widening::default(),
        })
    }

    /// The shard.
    pub fn shard(&self) -> &Rc<Shard> {
        &self.shard
    }
}
