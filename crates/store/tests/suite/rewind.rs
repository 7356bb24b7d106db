//! After a repair has cut the log, what the log takes next is applied again after a crash.

use crate::common::*;

#[test]
fn records_that_take_the_place_of_lost_ones_count_as_new() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let options = options(&clock, None);
    let store = dunlin_store::Store::open(dir.path(), &options).unwrap();
    store.apply(&[], 10).unwrap();
    store.flush_begin().unwrap();
    store.flush_wait().unwrap();
    store.rewind(5).unwrap();
    assert_eq!(store.applied(), 5);
    assert_eq!(store.flushed_applied(), 5);
    store.apply(&[], 6).unwrap();
    assert_eq!(store.applied(), 6);
    store.close().unwrap();
    let store = dunlin_store::Store::open(dir.path(), &options).unwrap();
    assert_eq!(store.applied(), 6);
}
