//! A copy that was broken off goes on, with what is left to do and no more.

use std::time::Duration;

use crate::support::{assert_left, content, copy, places, settings, various};
use dunlin_copy::{CopyError, Mode, Onto, Settings, Watch};
use rocksdb::{DB, Options};

const MODES: [Mode; 3] = [Mode::Files, Mode::Ingest, Mode::Insert];

/// Begins a copy and stops it when about half of its units are done; how many those are.
fn half(settings: &Settings) -> usize {
    let slow = Settings {
        limit_bytes_per_s: Some(1_500_000),
        ..settings.clone()
    };
    let watch = Watch::default();
    let stopped = std::thread::scope(|scope| {
        let copying = scope.spawn(|| dunlin_copy::copy(&slow, &watch));
        loop {
            let units = watch.units();
            if units.total > 0 && units.done * 2 >= units.total {
                watch.stop();
            }
            if copying.is_finished() {
                return copying.join().unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(
        matches!(stopped, Err(CopyError::Interrupted)),
        "{stopped:?}"
    );
    watch.units().done
}

#[test]
fn only_unfinished_units_are_sent_again() {
    for mode in MODES {
        let (directory, source, target) = places();
        various(&source, 6_000);
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        let done = half(&settings);
        assert!(done > 0, "{mode}");
        assert!(!target.join("CURRENT").exists());
        let verified = dunlin_copy::verify(&settings, &Watch::default());
        assert!(verified.unwrap_err().to_string().contains("is partial"));
        let outcome = copy(&settings).unwrap();
        assert!(
            outcome.units_done_before >= done && done < outcome.units,
            "{mode}"
        );
        assert!(content(&target) == content(&source), "{mode}");
        assert_left(directory.path(), &["source", "target"]);
    }
}

#[test]
fn a_database_that_changes_meanwhile_is_copied_as_it_was_when_the_copy_began() {
    for mode in MODES {
        let (_directory, source, target) = places();
        various(&source, 4_000);
        let expected = content(&source);
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        half(&settings);
        let options = Options::default();
        let names = DB::list_cf(&options, &source).unwrap();
        let db = DB::open_cf(&options, &source, names).unwrap();
        db.put(b"later", b"on").unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        drop(db);
        let outcome = copy(&settings).unwrap();
        assert!(outcome.units_done_before > 0, "{mode}");
        assert!(content(&target) == expected, "{mode}");
    }
}

#[test]
fn another_source_starts_over_and_says_so() {
    let (directory, source, target) = places();
    various(&source, 4_000);
    let settings = Settings {
        mode: Some(Mode::Ingest),
        ..settings(&source, &target)
    };
    half(&settings);
    let other = directory.path().join("other");
    various(&other, 1_000);
    let settings = Settings {
        source: other.clone(),
        ..settings
    };
    let watch = Watch::default();
    let outcome = dunlin_copy::copy(&settings, &watch).unwrap();
    assert_eq!(outcome.units_done_before, 0);
    let notices = watch.notices();
    assert!(
        notices.iter().any(|line| line.contains("starting over")),
        "{notices:?}"
    );
    assert!(content(&target) == content(&other));
}

#[test]
fn a_merge_shows_nothing_until_it_is_whole() {
    let (_directory, source, target) = places();
    various(&source, 4_000);
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, &target).unwrap();
    db.put(b"own", b"value").unwrap();
    drop(db);
    let before = content(&target);
    let settings = Settings {
        mode: Some(Mode::Ingest),
        onto: Onto::Merge,
        ..settings(&source, &target)
    };
    half(&settings);
    assert!(content(&target) == before);
    let plain = Settings {
        onto: Onto::Empty,
        ..settings.clone()
    };
    assert!(matches!(copy(&plain), Err(CopyError::Refused(_))));
    copy(&settings).unwrap();
    let mut expected = content(&source);
    let default = expected.get_mut("default").unwrap();
    default.insert(b"own".to_vec(), b"value".to_vec());
    assert!(content(&target) == expected);
}

#[test]
fn a_database_to_be_replaced_stays_until_the_copy_has_arrived() {
    let (_directory, source, target) = places();
    various(&source, 4_000);
    various(&target, 100);
    let before = content(&target);
    let settings = Settings {
        onto: Onto::Replace,
        mode: Some(Mode::Files),
        ..settings(&source, &target)
    };
    half(&settings);
    assert!(content(&target) == before);
    copy(&settings).unwrap();
    assert!(content(&target) == content(&source));
}

#[test]
fn a_copy_that_is_whole_is_not_made_again() {
    let (_directory, source, target) = places();
    various(&source, 300);
    let settings = Settings {
        mode: Some(Mode::Ingest),
        ..settings(&source, &target)
    };
    copy(&settings).unwrap();
    let again = copy(&settings).unwrap();
    assert_eq!((again.units, again.sent.pairs), (0, 0));
    // Once a program has opened it, nobody knows what it holds.
    drop(DB::open_cf(
        &Options::default(),
        &target,
        DB::list_cf(&Options::default(), &target).unwrap(),
    ));
    assert!(matches!(copy(&settings), Err(CopyError::Refused(_))));
}
