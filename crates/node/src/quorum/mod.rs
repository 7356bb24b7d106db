//! Coordinating a request: any shard of any node can, for any key.

mod attempt;
mod bulk;
pub(crate) mod decide;
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
pub(crate) use widen::Widening;
