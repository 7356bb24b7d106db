#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn syncs_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let rate = sync_rate(directory.path(), Duration::from_millis(50)).unwrap();
    assert!(rate.syncs_per_s > 0.0);
    assert!(rate.sync_us_p50 <= rate.sync_us_p99);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}
