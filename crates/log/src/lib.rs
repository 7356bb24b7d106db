//! A shard's log: blocks, records, segments, group commit, recovery, cursors. Knows bytes only.
//! The format is docs/formats.md section 1.
//!
//! # Map
//! - [`Log`] (`log/`): the front on the event loop. `append` accepts a record into memory, `drive`
//!   hands what has gathered to the writer as one group, `progress` tells how far that has come.
//! - `writer/`: the I/O side. Encodes a group, writes it, syncs it, or gives it to the disk before
//!   anybody asks (`behind`); makes and recycles segments.
//! - [`Cursor`] (`cursor/`): reads records from memory, or from segments when it is behind.
//! - `recover`, `examine/`: what open does; tells a torn tail from damage.
//! - [`check`], [`repair`]: the same for the command line.
//! - [`inspect`]: any one log file, ours or RocksDB's, as events and figures.
//! - [`block`]: pure encoder and decoder. `batch/`: compressed batches of records. `segment/`:
//!   names, headers, marks, reading a file.
//! - [`disk`], [`Runner`]: the disk, and how blocking I/O leaves the event loop. [`sim`]: a
//!   simulated disk that loses, tears and reorders what was not synced.

#![forbid(unsafe_code)]

mod batch;
pub mod block;
mod check;
mod cursor;
pub mod disk;
mod error;
mod examine;
pub mod inspect;
mod log;
mod options;
mod recover;
mod repair;
mod runner;
mod segment;
pub mod sim;
mod writer;

pub use check::{Report, SegmentReport, Trouble, check};
pub use cursor::{Cursor, Tail};
pub use error::{AppendError, CursorError, Failure, Lack, OpenError};
pub use log::{Log, Progress, SYNC_BUCKETS, Stats};
pub use options::{
    BLOCK_SIZE_BYTES_MAX, BLOCK_SIZE_BYTES_MIN, Compression, Options, Padding, WrongWord,
    is_block_size,
};
pub use recover::{Recovered, Torn};
pub use repair::{Plan, RepairError, Repaired, repair};
pub use runner::{Gone, Runner, Threads};
pub use segment::{SEGMENT_HEADER_LENGTH, SegmentInfo, SegmentSettings};

/// Number of a logical record: dense, the first is 1.
pub type Index = u64;
