//! Tables (SST files) checked block by block without being decompressed: RocksDB's block-based
//! format, versions 2 to 7.

mod block;
mod check;
mod footer;
mod record;

pub(crate) use check::{check, largest_block, survey};
pub(crate) use record::Record;
