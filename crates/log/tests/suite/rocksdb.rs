//! RocksDB's write-ahead log, both ways: what `db_bench` writes is read and written again byte for
//! byte, what Dunlin writes is read by `ldb`. Both are Debian's (package rocksdb-tools, 7.8.3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that runs other programs"
)]

mod dunlin_writes;
mod rocksdb_writes;
mod tools;
