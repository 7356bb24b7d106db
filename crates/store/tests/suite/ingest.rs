//! Records taken over as a file.

use crate::common::*;
use dunlin_entry::Version;
use dunlin_store::Outcome;

const NAMES: [&str; 3] = ["b", "c", "d"];

fn entries(version: u64) -> Vec<dunlin_entry::Entry> {
    NAMES
        .iter()
        .map(|key| put(key, "ingested", stamp(version, 1)))
        .collect()
}

#[test]
fn what_is_ingested_is_read_and_outlives_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[put("a", "v", stamp(5, 1))], 1).unwrap();
    flush(&store);
    let ready = store.ingest_prepare(&entries(9)).unwrap();
    assert!(store.ingest(&[ready]).unwrap());
    drop(store);
    // Not closed: what a crash leaves.
    let store = open(dir.path());
    for key in NAMES {
        assert_eq!(text(&store, key).as_deref(), Some("ingested"));
    }
    assert_eq!(text(&store, "a").as_deref(), Some("v"));
}

#[test]
fn older_entries_lose_and_newer_ones_win_whether_or_not_it_was_restarted() {
    for restart in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = open(dir.path());
        flush(&store);
        let ready = store.ingest_prepare(&entries(100)).unwrap();
        assert!(store.ingest(&[ready]).unwrap());
        if restart {
            drop(store);
            store = open(dir.path());
            store.expect_versions(Version(100));
        }
        let older = [
            put("b", "older", stamp(50, 1)),
            put("c", "newer", stamp(150, 1)),
        ];
        let outcomes = store.apply(&older, 1).unwrap();
        assert!(matches!(outcomes[0], Outcome::Lost { newer } if newer == stamp(100, 1).into()));
        assert_eq!(outcomes[1], Outcome::Won);
        assert_eq!(text(&store, "b").as_deref(), Some("ingested"));
        assert_eq!(text(&store, "c").as_deref(), Some("newer"));
    }
}

#[test]
fn nothing_is_taken_over_what_only_memory_holds() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    flush(&store);
    store
        .apply(&[put("c", "memory", stamp(200, 1))], 1)
        .unwrap();
    let ready = store.ingest_prepare(&entries(100)).unwrap();
    assert!(!store.ingest(&[ready]).unwrap());
    assert_eq!(text(&store, "c").as_deref(), Some("memory"));
    assert_eq!(text(&store, "b"), None);
}

#[test]
fn files_that_a_crash_left_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    flush(&store);
    std::mem::forget(store.ingest_prepare(&entries(1)).unwrap());
    let left = |prefix: &str| {
        let names = std::fs::read_dir(dir.path()).unwrap();
        let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(prefix)).count()
    };
    assert_eq!(left("ingest-"), 1);
    drop(store);
    let store = open(dir.path());
    assert_eq!(left("ingest-"), 0);
    assert_eq!(text(&store, "b"), None);
    // One that is not taken over goes by itself.
    drop(store.ingest_prepare(&entries(1)).unwrap());
    assert_eq!(left("ingest-"), 0);
}

#[test]
fn what_was_told_of_ingested_versions_does_not_hide_later_ones() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.expect_versions(Version(1 << 40));
    store
        .apply(&[put("a", "newer", stamp(1 << 30, 1))], 1)
        .unwrap();
    flush(&store);
    drop(store);
    let store = open(dir.path());
    let outcomes = store.apply(&[put("a", "older", stamp(1 << 20, 1))], 2);
    assert!(matches!(outcomes.unwrap()[0], Outcome::Lost { .. }));
    assert_eq!(text(&store, "a").as_deref(), Some("newer"));
}

#[test]
fn several_files_are_taken_over_together_or_none_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    flush(&store);
    store
        .apply(&[put("y", "memory", stamp(200, 1))], 1)
        .unwrap();
    let file = |keys: [&str; 2]| {
        let entries = keys.map(|key| put(key, "ingested", stamp(100, 1)));
        store.ingest_prepare(&entries).unwrap()
    };
    let files = [file(["b", "c"]), file(["x", "z"])];
    assert!(!store.ingest(&files).unwrap());
    assert_eq!(text(&store, "b"), None);
    let [clear, in_way] = files;
    assert!(store.ingest(&[clear]).unwrap());
    assert!(!store.ingest(&[in_way]).unwrap());
    assert!(store.ingest(&[file(["d", "e"]), file(["f", "g"])]).unwrap());
    for key in ["b", "c", "d", "e", "f", "g"] {
        assert_eq!(text(&store, key).as_deref(), Some("ingested"));
    }
    assert_eq!(text(&store, "x"), None);
    assert_eq!(text(&store, "y").as_deref(), Some("memory"));
}
