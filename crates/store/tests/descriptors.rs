//! No file descriptors left: refused clearly, nothing lost, and writing resumes when there are some.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
mod common;

use std::fs::File;

use common::*;
use dunlin_store::{Store, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The only test of this binary: the limit is the process's.
#[test]
fn writing_resumes_when_there_are_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(&TestClock::default(), None);
    let path = dir.path().join("store");
    let store = Store::open(&path, &options).unwrap();
    for n in 1..100 {
        store
            .apply(&[put(&format!("key {n}"), "x", stamp(n, 1))], n)
            .unwrap();
    }
    let limit = getrlimit(Resource::Nofile);
    // The lowest free number is the one that opening takes.
    let next = File::open("/dev/null").unwrap();
    let next = std::os::fd::AsRawFd::as_raw_fd(&next) as u64;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(next),
            maximum: limit.maximum,
        },
    )
    .unwrap();
    let begun = store.flush_begin();
    // It goes on in memory.
    let applied = store.apply(&[put("key 100", "x", stamp(100, 1))], 100);
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(begun, Err(StoreError::NoFiles));
    assert!(applied.is_ok(), "{applied:?}");
    assert_eq!(store.flush_begin(), Ok(100));
    assert_eq!(store.flush_wait(), Ok(100));
    assert_eq!(get(&store, "key 100").unwrap().value, "x");
}
