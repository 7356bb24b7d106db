//! Coordinating a request: any shard of any node can, for any key.

mod bulk;
pub(crate) mod decide;
mod error;
mod merge;
mod read;
mod scan;
mod write;

pub use decide::Quorum;
pub use error::Failure;
pub use scan::Scan;
