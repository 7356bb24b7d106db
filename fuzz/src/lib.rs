//! What the fuzz targets share.
//!
//! | file | holds |
//! |---|---|
//! | `input` | numbers and pieces out of a fuzzer's bytes |
//! | `memory` | the counting allocator, and what one input may take |
//! | `physical` | records laid out by hand, and checksums put right |
//! | `segment` | a segment's header laid out by hand |
//! | `packed` | several files in one input |
//! | `write` | a real log, written as an input says |
//! | `reopen` | what must hold between `check`, `open`, `repair` and reading |
//!
//! A fuzzer does not get past a checksum often, so inputs say whether checksums are put right
//! before the code under test sees them.

#![forbid(unsafe_code)]

pub mod input;
pub mod memory;
pub mod packed;
pub mod physical;
pub mod reopen;
pub mod segment;
pub mod write;
