//! A full disk: refused clearly, nothing lost, and writing resumes when there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::*;
use dunlin_store::{Store, StoreError, StoreOptions};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A small file system that goes away with the test.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(at: &'a Path, options: &std::ffi::CStr) -> Option<Self> {
        match mount("tmpfs", at, "tmpfs", MountFlags::empty(), options) {
            Ok(()) => Some(Self(at)),
            Err(error) => {
                println!("skipped: no tmpfs can be mounted here ({error})");
                None
            }
        }
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = unmount(self.0, UnmountFlags::DETACH);
    }
}

fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(2) + 1;
    (0..1000)
        .map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            char::from(33 + (state >> 40) as u8 % 90)
        })
        .collect()
}

fn small_flushes() -> StoreOptions {
    let mut options = options(&TestClock::default(), None);
    options.flush_bytes = 2 << 20;
    options
}

/// Takes the rest of the disk with a file, which this answers.
fn leave_a_mebibyte(disk: &Path) -> PathBuf {
    let ballast = disk.join("ballast");
    let free = rustix::fs::statvfs(disk).unwrap();
    let free = (free.f_bavail * free.f_frsize) as usize;
    fs::write(&ballast, vec![0; free - (1 << 20)]).unwrap();
    ballast
}

fn load(store: &Store, from: u64, to: u64) -> Result<(), StoreError> {
    for n in from..to {
        store.apply(&[put(&format!("key {n}"), &noise(n), stamp(n, 1))], n)?;
    }
    Ok(())
}

#[test]
fn writing_resumes_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mount) = Tmpfs::mount(dir.path(), c"size=24m") else {
        return;
    };
    let options = small_flushes();
    let path = dir.path().join("store");
    let store = Store::open(&path, &options).unwrap();
    load(&store, 1, 2000).unwrap();
    flush(&store);
    // Leave less room than the next flush needs.
    let ballast = leave_a_mebibyte(dir.path());
    load(&store, 2000, 6000).unwrap();
    store.flush_begin().unwrap();
    let error = store.flush_wait().unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    assert_eq!(store.flushed_applied(), 1999);
    // Refused with the reason, while everything stays readable.
    let error = load(&store, 6000, 6001).unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    let error = store.flush_begin().unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    assert_eq!(store.applied(), 5999);
    assert_eq!(get(&store, "key 5999").unwrap().value, noise(5999));

    fs::remove_file(&ballast).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = store.flush_wait() {
        assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
        assert!(Instant::now() < deadline, "no recovery");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(store.flushed_applied(), 5999);
    // What a compaction met before there was room may be told once more.
    while let Err(error) = load(&store, 6000, 6100) {
        assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
        assert!(Instant::now() < deadline, "no recovery");
        std::thread::sleep(Duration::from_millis(100));
    }
    store.close().unwrap();
    let store = Store::open(&path, &options).unwrap();
    assert_eq!(store.applied(), 6099);
    for n in [1, 1999, 2000, 5999, 6000, 6099] {
        assert_eq!(get(&store, &format!("key {n}")).unwrap().value, noise(n));
    }
    assert_eq!(store.verify().unwrap(), 6099);
}

/// Room is made by dropping a keyspace, in a store that takes nothing for want of room.
#[test]
fn a_keyspace_dropped_from_a_full_disk_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mount) = Tmpfs::mount(dir.path(), c"size=24m") else {
        return;
    };
    let options = small_flushes();
    let store = Store::open(dir.path().join("store"), &options).unwrap();
    load(&store, 1, 8000).unwrap();
    flush(&store);
    // Below level 0, where whole files can go.
    store.compact().unwrap();
    let held = store.keyspace_bytes(KEYSPACE).unwrap();
    assert!(held > 6 << 20, "{held}");
    leave_a_mebibyte(dir.path());
    load(&store, 8000, 11_000).unwrap();
    store.flush_begin().unwrap();
    let error = store.flush_wait().unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    let error = store.check().unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");

    let refused = store.drop_keyspace(KEYSPACE).unwrap_err();
    assert!(matches!(refused, StoreError::NoSpace { .. }), "{refused:?}");
    let left = store.keyspace_bytes(KEYSPACE).unwrap();
    assert!(left < held / 4, "{left} of {held}: files go all the same");
    let deadline = Instant::now() + Duration::from_secs(60);
    let purge = || {
        store.drop_keyspace(KEYSPACE)?;
        store.flush_begin()?;
        store.flush_wait()?;
        store.compact_keyspace(KEYSPACE)?;
        store.keyspace_bytes(KEYSPACE)
    };
    while purge() != Ok(0) {
        assert!(Instant::now() < deadline, "{:?}", purge());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(store.keyspaces().unwrap(), []);
    store.check().unwrap();
}

/// Dropping a keyspace needs the store open.
#[test]
fn a_store_opens_on_a_disk_that_is_filled_to_the_last_block() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mount) = Tmpfs::mount(dir.path(), c"size=24m") else {
        return;
    };
    let options = small_flushes();
    let path = dir.path().join("store");
    let store = Store::open(&path, &options).unwrap();
    load(&store, 1, 8000).unwrap();
    flush(&store);
    store.compact().unwrap();
    drop(store);
    let ballast = dir.path().join("ballast");
    let filled = fs::write(&ballast, vec![0; 32 << 20]);
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    for _ in 0..3 {
        drop(Store::open(&path, &options).unwrap());
    }
    let store = Store::open(&path, &options).unwrap();
    assert_eq!(get(&store, "key 7999").unwrap().value, noise(7999));
    assert!(!path.join("spare").exists());
    store.drop_keyspace(KEYSPACE).unwrap();
    flush(&store);
    drop(store);
    // Held back again, for the next time.
    assert!(path.join("spare").exists());
}
