//! Tables (SST files) checked block by block without being decompressed: RocksDB's block-based
//! format, versions 2 to 7.

mod block;
mod check;
mod footer;

pub(crate) use check::{check, largest_block};
