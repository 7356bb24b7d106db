//! Looking into one log file: a Dunlin segment, or a write-ahead log of RocksDB or LevelDB.
//!
//! [`Inspector`] turns the bytes of a file into [`Event`]s, block by block and in bounded memory,
//! and goes on behind damage; Dunlin's compressed batches it decompresses. [`Stat`] adds the events
//! up. Neither changes anything.
//!
//! | file | holds |
//! |---|---|
//! | `code` | type bytes: what each means and which header it has |
//! | `physical` | one physical record, checksum and all |
//! | `detect` | whose log a file is |
//! | `event` | what an inspector reports |
//! | `walk` | the inspector: blocks to physical records, and what stands between them |
//! | `gather` | physical to logical records |
//! | `write_batch` `batch_op` | RocksDB's write batches, where payloads are such |
//! | `stat` `verdict` | sums; whole, torn or damaged |

mod batch_op;
mod code;
mod detect;
mod event;
mod gather;
mod physical;
mod stat;
mod verdict;
mod walk;
mod write_batch;

pub use crate::batch::CompressedBatch;
pub use batch_op::Op;
pub use code::{Code, Part, Use};
pub use detect::{Form, InspectError, Layout, Settings};
pub use event::{Blank, Damage, End, Event, Own, PaddingSpan, Physical, Reason, Record, Rest};
pub use stat::{Batches, Stat};
pub use verdict::Verdict;
pub use walk::Inspector;
pub use write_batch::{BatchError, WriteBatch};

pub use crate::segment::header::SegmentHeader;

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
