//! Losing power at any moment leaves data and applied position that belong together.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::*;
use dunlin_store::{Store, StoreError};

/// After so long a few losses of power are enough.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files as a disk would hold them had the power failed now: the manifest first, since what
/// it names was on disk before it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let current = fs::read_to_string(from.join("CURRENT"))?;
    fs::copy(from.join(current.trim()), to.join(current.trim()))?;
    fs::write(to.join("CURRENT"), current)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_name().to_string_lossy().ends_with(".sst") {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// Ends the writer even when the test fails before it is done.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The key of the n-th put. In no order, as keys of users are: files of keys that only grow do not
/// overlap, so compactions would move them down as they are and join none, tens of thousands of them.
fn key(n: u64) -> String {
    format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Index n of the log puts key n, so the keys held tell the position.
fn write_until(store: &Store, stop: &AtomicBool) {
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..7 {
            n += 1;
            store.apply(&[put(&key(n), "v", stamp(n, 1))], n).unwrap();
        }
        store.flush_begin().unwrap();
        n += 1;
        store.apply(&[put(&key(n), "v", stamp(n, 1))], n).unwrap();
        store.flush_wait().unwrap();
    }
}

#[test]
fn data_and_position_belong_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let stop = AtomicBool::new(false);
    let mut positions = Vec::new();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| write_until(&store, &stop));
        let _stop = StopOnDrop(&stop);
        // A copy that a compaction's file deletions get in the way of is no power loss.
        for _ in 0..400 {
            let flushed = store.flushed_applied();
            let image = tempfile::tempdir().unwrap();
            if copy(dir.path(), image.path()).is_err() {
                continue;
            }
            let restored = match Store::open(image.path(), &options(&TestClock::default(), None)) {
                Ok(restored) => restored,
                Err(StoreError::Damaged { detail, .. } | StoreError::Io { detail })
                    if detail.contains("No such file") =>
                {
                    continue;
                }
                Err(error) => panic!("{error:?}"),
            };
            let applied = restored.applied();
            assert!(applied >= flushed);
            let digest = restored.digest(KEYSPACE, 0).unwrap();
            assert_eq!(digest.records, applied);
            if applied > 0 {
                assert!(get(&restored, &key(applied)).is_some());
            }
            if positions.last() != Some(&applied) {
                positions.push(applied);
            }
            // On a busy machine each copy takes longer than the last.
            let is_late = begun.elapsed() > PATIENCE && positions.len() > 5;
            if positions.len() == 60 || is_late {
                break;
            }
        }
    });
    assert!(positions.len() > 5, "{positions:?}");
}
