#![allow(clippy::unwrap_used)]
use super::*;
use crate::{Applied, Entries, Lookup, Page, PageBounds, Tier};
use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_proto::Condition;
use dunlin_store::CacheSizes;
use dunlin_txn::{Command, Id, ORIGIN, Verdict, Write};

fn resources() -> SharedResources {
    SharedResources::new(
        CacheSizes {
            block_bytes: 1 << 20,
            row_bytes: 1 << 16,
        },
        1,
    )
    .unwrap()
}

fn command(at: u64, condition: Condition, key: &str, value: Option<&str>) -> Command {
    Command::Write {
        at: Version(at),
        condition,
        write: write(key, value),
    }
}

fn write(key: &str, value: Option<&str>) -> Write {
    Write {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: value.map(|value| Bytes::copy_from_slice(value.as_bytes())),
    }
}

fn page_of(store: &Store, at: Version, range: (&[u8], Option<&[u8]>), count: usize) -> Page {
    let bounds = |tier| PageBounds {
        bytes: 1 << 20,
        count,
        tier,
    };
    let page = store.page(0, at, range, bounds(Tier::Disk)).unwrap();
    // What memory tells is the same.
    if let Some(in_memory) = store.page(0, at, range, bounds(Tier::CacheOnly)).unwrap() {
        assert_eq!(Some(in_memory), page);
    }
    page.unwrap()
}

/// Bytes of the tables of a directory.
fn table_bytes(dir: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap());
    let tables = files.filter(|file| file.path().extension().is_some_and(|end| end == "sst"));
    tables.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn rows_of_a_copy_that_broke_off_give_their_room_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let key = |number: u32| format!("{number:08}");
    let rows: Vec<crate::Row> = (0..2_000_u32)
        .map(|number| {
            let command = command(10, Condition::None, &key(number), None);
            let Command::Write { write, .. } = command else {
                unreachable!()
            };
            let words = (0..2_500_u32)
                .flat_map(|word| (word ^ number).wrapping_mul(0x9e37_79b1).to_le_bytes());
            (write.key, words.collect::<Vec<u8>>().into())
        })
        .collect();
    for place in 0..3 {
        store.load(place, &rows).unwrap();
        store.flush().unwrap();
    }
    let (all, one) = (table_bytes(dir.path()), table_bytes(dir.path()) / 3);
    store.clear(1).unwrap();
    assert!(table_bytes(dir.path()) < all - one / 2, "{all}");
    // While one is read, too; and all that it began with is read.
    let meta = Meta {
        place: 2,
        ..Meta::default()
    };
    let mut copy = store.rows(&meta);
    let first = copy.next(1).unwrap();
    store.clear(2).unwrap();
    let mut read = first.len();
    while !copy.is_over() {
        read += copy.next(1 << 20).unwrap().len();
    }
    assert_eq!(read, rows.len());
    drop(copy);
    assert_eq!(
        store.rows(&Meta::default()).next(usize::MAX).unwrap().len(),
        rows.len()
    );
    assert_eq!(store.rows(&meta).next(usize::MAX).unwrap().len(), 0);
}

#[test]
fn values_from_the_disk_are_kept_unless_they_are_written_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let put = |at, key: &str| command(at, Condition::None, key, Some(&format!("{key}{at}")));
    let commands = [put(10, "a"), put(11, "b"), put(12, "c"), put(30, "c")];
    let meta = apply(&store, &Meta::default(), &commands, 1).meta;
    let keys = ["a", "b", "c", "d"].map(|key| Bytes::copy_from_slice(key.as_bytes()));
    let mut read = Vec::new();
    let all = store.get_each(0, &keys, Version(20), |lookup| {
        if read.is_empty() {
            apply(&store, &meta, &[put(40, "b")], 2);
        }
        read.push(match lookup {
            Lookup::Found(found) => Some(found.version.0),
            _ => None,
        });
        true
    });
    all.unwrap();
    assert_eq!(read, [Some(10), Some(11), Some(12), None]);
    let kept = |key: &str| store.cached_version(0, key.as_bytes()).map(|at| at.0);
    assert_eq!(kept("a"), Some(10));
    // A newer one was applied, or was there.
    assert_ne!(kept("b"), Some(11));
    assert_eq!(kept("c"), None);
    let mut count = 0;
    let some = store.get_each(0, &keys, Version(20), |_| {
        count += 1;
        count < 2
    });
    some.unwrap();
    assert_eq!(count, 2);
}

#[test]
fn a_page_that_memory_does_not_tell_soon_is_left_to_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    let put = |at, key: &str| command(at, Condition::None, key, Some("v"));
    let deleted: Vec<Command> = (0..1_000)
        .map(|at| command(at, Condition::None, &format!("a{at:04}"), None))
        .collect();
    meta = apply(&store, &meta, &deleted, 1).meta;
    meta = apply(&store, &meta, &[put(2_000, "b")], 2).meta;
    let page = |store: &Store, tier| {
        let bounds = PageBounds {
            bytes: 1 << 20,
            count: 1,
            tier,
        };
        let page = store.page(0, Version::MAX, (b"", None), bounds).unwrap();
        page.map(|page| page.items.len())
    };
    assert_eq!(page(&store, Tier::CacheOnly), Some(1));
    let more: Vec<Command> = (3_000..3_100)
        .map(|at| command(at, Condition::None, &format!("a{at:04}"), None))
        .collect();
    apply(&store, &meta, &more, 3);
    assert_eq!(page(&store, Tier::CacheOnly), None);
    assert_eq!(page(&store, Tier::Disk), Some(1));
    store.flush().unwrap();
    drop(store);
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    assert_eq!(page(&store, Tier::CacheOnly), None);
}

fn apply(store: &Store, meta: &Meta, commands: &[Command], index: u64) -> Applied {
    let mut state = store.state(meta).unwrap();
    let entries = Entries {
        commands,
        index,
        term: 1,
        descriptor: None,
    };
    let applied = store.apply(1, meta, &mut state, entries).unwrap();
    // What is in memory is what is stored.
    assert_eq!(state, store.state(&applied.meta).unwrap());
    applied
}

fn value(store: &Store, place: u32, key: &str) -> Option<String> {
    match store
        .get(place, key.as_bytes(), Version::MAX, Tier::Disk)
        .unwrap()
    {
        Lookup::Found(found) => found.value.map(|v| String::from_utf8(v.to_vec()).unwrap()),
        _ => None,
    }
}

#[test]
fn of_two_in_one_batch_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let absent = |at, value| command(at, Condition::Absent, "lock", Some(value));
    let commands = [absent(5, "a"), absent(6, "b")];
    let applied = apply(&store, &Meta::default(), &commands, 2);
    let first = Version(5);
    let failed = Verdict::ConditionFailed(Some(first));
    assert_eq!(applied.verdicts, [Verdict::Done, failed]);
    assert_eq!(value(&store, 0, "lock").as_deref(), Some("a"));
    let is = Condition::Is(Stamp::new(first, ORIGIN));
    let commands = [
        command(7, is, "lock", None),
        command(8, is, "lock", Some("c")),
        absent(9, "d"),
    ];
    let applied = apply(&store, &applied.meta, &commands, 5);
    let verdicts = [Verdict::Done, Verdict::ConditionFailed(None), Verdict::Done];
    assert_eq!(applied.verdicts, verdicts);
    assert_eq!(value(&store, 0, "lock").as_deref(), Some("d"));
    assert_eq!(store.groups().unwrap().get(&1), Some(&applied.meta));
    assert_eq!(applied.meta.applied, 5);
    assert_eq!(applied.meta.greatest, Version(9));
}

#[test]
fn intents_and_records_are_stored_and_go_with_their_range() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let place = |txn: u64, key: &str| Command::Place {
        txn: Version(txn),
        holder: 7,
        checks: vec![],
        writes: vec![write(key, Some("new")), write("gone", None)],
    };
    let commit = |txn: u64, participants: &[u64]| Command::Commit {
        txn: Version(txn),
        participants: participants.to_vec(),
        checks: vec![],
        writes: vec![write(&format!("own{txn}"), Some("x"))],
        id: None,
    };
    let commands = [
        command(3, Condition::None, "k", Some("old")),
        place(5, "k"),
        commit(6, &[8]),
        commit(7, &[]),
        Command::Abort { txn: Version(8) },
        // In the same batch as the record that tells it.
        commit(8, &[]),
        Command::Abort { txn: Version(7) },
    ];
    let applied = apply(&store, &Meta::default(), &commands, 9);
    assert_eq!(
        applied.verdicts[5..],
        [Verdict::Aborted, Verdict::Committed]
    );
    assert_eq!(value(&store, 0, "k").as_deref(), Some("old"));
    assert_eq!(store.is_committed(0, Version(7)).unwrap(), Some(true));
    assert_eq!(store.is_committed(0, Version(8)).unwrap(), Some(false));
    assert_eq!(store.is_committed(0, Version(9)).unwrap(), None);
    // Another replica has all of it.
    let mut rows = store.rows(&applied.meta);
    store.load(1, &rows.next(1 << 20).unwrap()).unwrap();
    let loaded = Meta {
        place: 1,
        ..applied.meta
    };
    let state = store.state(&applied.meta).unwrap();
    assert_eq!(store.state(&loaded).unwrap(), state);
    assert_eq!(state.intents().count(), 2);
    let commands = [
        Command::Finalize {
            txn: Version(5),
            is_committed: true,
        },
        Command::Watermark { to: Version(7) },
    ];
    let applied = apply(&store, &applied.meta, &commands, 11);
    assert_eq!(value(&store, 0, "k").as_deref(), Some("new"));
    assert_eq!(applied.meta.watermark, Version(7));
    assert_eq!(store.is_committed(0, Version(7)).unwrap(), None);
    // That one is still needed.
    assert_eq!(store.is_committed(0, Version(6)).unwrap(), Some(true));
    assert_eq!(store.is_committed(0, Version(8)).unwrap(), Some(false));
    store.clear(0).unwrap();
    assert_eq!(store.state(&loaded).unwrap(), state);
    assert_eq!(store.state(&applied.meta).unwrap().intents().count(), 0);
}

#[test]
fn what_is_read_at_a_timestamp_is_what_was_there_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let put = |at, key: &str| command(at, Condition::None, key, Some(&format!("{key}{at}")));
    let commands = [
        put(10, "a"),
        put(30, "a"),
        put(20, "b"),
        command(40, Condition::None, "b", None),
        // Later in the log, and earlier in time.
        put(25, "a"),
    ];
    apply(&store, &Meta::default(), &commands, 5);
    let page = |at| {
        let page = page_of(&store, Version(at), (b"", None), 9);
        let values = page.items.into_iter().map(|(_, _, value)| value);
        let texts = values.map(|value| String::from_utf8(value.to_vec()).unwrap());
        texts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(page(9), "");
    assert_eq!(page(10), "a10");
    assert_eq!(page(24), "a10 b20");
    assert_eq!(page(25), "a25 b20");
    assert_eq!(page(39), "a30 b20");
    assert_eq!(page(40), "a30");
    let get = |at| match store.get(0, b"a", Version(at), Tier::Disk).unwrap() {
        Lookup::Found(found) => Some(found.version.0),
        _ => None,
    };
    assert_eq!(
        [9, 10, 29, 99].map(get),
        [None, Some(10), Some(25), Some(30)]
    );
}

#[test]
fn a_change_is_a_version_between_two_timestamps() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    for at in 1..=20 {
        let put = command(at, Condition::None, "b", Some("v"));
        meta = apply(&store, &meta, &[put], at).meta;
    }
    let commands = [
        command(30, Condition::None, "c", Some("v")),
        command(40, Condition::None, "d", None),
    ];
    apply(&store, &meta, &commands, 21);
    let changed = |since, at, start: &str, end: Option<&str>| {
        let span = (start.as_bytes(), end.map(str::as_bytes));
        let between = (Version(since), Version(at));
        let key = store.changed(0, between, span).unwrap();
        key.map(|key| String::from_utf8(key.to_vec()).unwrap())
    };
    let some = |key: &str| Some(key.to_owned());
    assert_eq!(changed(20, 29, "", None), None);
    assert_eq!(changed(20, 30, "", None), some("c"));
    assert_eq!(changed(19, 30, "", None), some("b"));
    assert_eq!(changed(4, 5, "b", Some("c")), some("b"));
    assert_eq!(changed(5, 5, "b", Some("c")), None);
    // Deletes are changes, too; other keys are not.
    assert_eq!(changed(30, 39, "", None), None);
    assert_eq!(changed(30, 40, "", None), some("d"));
    assert_eq!(changed(0, 99, "e", None), None);
    assert_eq!(changed(0, 99, "", Some("b")), None);
}

#[test]
fn pages_hold_the_newest_of_each_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    for round in 0..20_u64 {
        let commands: Vec<Command> = ["a", "b", "c", "d"]
            .iter()
            .map(|key| command(round, Condition::None, key, Some(&format!("{key}{round}"))))
            .collect();
        meta = apply(&store, &meta, &commands, round).meta;
    }
    let commands = [command(20, Condition::None, "b", None)];
    meta = apply(&store, &meta, &commands, 21).meta;
    // Another place's are not met.
    store
        .load(
            1,
            &[(
                Bytes::from_static(b"va\0\0\0\0\0\0\0\0\0\0"),
                Bytes::from_static(b"\x01x"),
            )],
        )
        .unwrap();
    let keys = |start: &str, end: Option<&str>, count| {
        let end = end.map(str::as_bytes);
        let range = (start.as_bytes(), end);
        let page = page_of(&store, Version::MAX, range, count);
        let values = page
            .items
            .iter()
            .map(|(_, _, v)| String::from_utf8(v.to_vec()).unwrap());
        (values.collect::<Vec<_>>().join(" "), page.next)
    };
    assert_eq!(keys("", None, 9), ("a19 c19 d19".to_owned(), None));
    assert_eq!(keys("b", Some("d"), 9), ("c19".to_owned(), None));
    assert_eq!(
        keys("", None, 1),
        ("a19".to_owned(), Some(Bytes::from_static(b"c")))
    );
    assert_eq!(keys("e", None, 1), (String::new(), None));
    // All versions go where nothing older is kept, and the delete with them.
    store.keep_from_ms(BTreeMap::from([(0, u64::MAX)]));
    store.flush().unwrap();
    store.db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(keys("", None, 9), ("a19 c19 d19".to_owned(), None));
    let mut rows = store.rows(&meta);
    assert_eq!(rows.next(1 << 20).unwrap().len(), 3);
}

#[test]
fn a_range_is_loaded_beside_the_one_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let commands: Vec<Command> = (0..500)
        .map(|n| command(1, Condition::None, &format!("k{n}"), Some("value")))
        .collect();
    let meta = apply(&store, &Meta::default(), &commands, 9).meta;
    let mut rows = store.rows(&meta);
    let late = [command(2, Condition::None, "late", Some("x"))];
    apply(&store, &meta, &late, 10);
    let place = store.free_place().unwrap();
    assert_eq!(place, 1);
    let mut loaded = 0;
    loop {
        let page = rows.next(1_000).unwrap();
        if page.is_empty() {
            break;
        }
        loaded += page.len();
        store.load(place, &page).unwrap();
    }
    assert_eq!(loaded, 500);
    assert_eq!(value(&store, place, "k17").as_deref(), Some("value"));
    assert_eq!(value(&store, place, "late"), None);
    assert_eq!(value(&store, 0, "late").as_deref(), Some("x"));
    assert_eq!(store.free_place().unwrap(), 2);
    // Nobody has it: it goes.
    store.clear_left_over().unwrap();
    assert_eq!(value(&store, place, "k17"), None);
    assert_eq!(value(&store, 0, "k17").as_deref(), Some("value"));
}

#[test]
fn what_was_not_flushed_is_gone_with_its_position() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let put = |n| [command(n, Condition::None, "k", Some("v"))];
    let meta = apply(&store, &Meta::default(), &put(1), 1).meta;
    store.flush().unwrap();
    apply(&store, &meta, &put(2), 2);
    drop(store);
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    assert_eq!(store.groups().unwrap().get(&1), Some(&meta));
    assert_eq!(value(&store, 0, "k").as_deref(), Some("v"));
}

#[test]
fn names_are_remembered_until_the_watermark_has_passed_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let named = |txn: Version| Command::Commit {
        txn,
        participants: vec![],
        checks: vec![],
        writes: vec![write("k", Some("x"))],
        id: Some(Id {
            ms: 100,
            name: Bytes::from_static(b"100-name"),
            body: 1,
        }),
    };
    let first = Version::new(100, 1);
    let before = Verdict::CommittedBefore(first);
    // In one batch, and in another.
    let commands = [named(first), named(Version::new(100, 2))];
    let applied = apply(&store, &Meta::default(), &commands, 2);
    assert_eq!(applied.verdicts, [Verdict::Committed, before.clone()]);
    let raise = |ms| Command::Watermark {
        to: Version::new(ms, 0),
    };
    let commands = [raise(99), named(Version::new(150, 0))];
    let applied = apply(&store, &applied.meta, &commands, 4);
    assert_eq!(applied.verdicts[1], before);
    let commands = [raise(100), named(Version::new(160, 0))];
    let applied = apply(&store, &applied.meta, &commands, 6);
    assert_eq!(applied.verdicts[1], Verdict::Forgotten);
}

#[test]
fn what_was_read_lately_is_not_told_when_it_is_not_what_there_was() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    let mut written: BTreeMap<u64, Option<String>> = BTreeMap::new();
    // Versions come in any order; among them deletes, and a version that is the newest for a while.
    for (index, at) in [50_u64, 20, 70, 10, 60, 90, 40, 80, 30]
        .into_iter()
        .enumerate()
    {
        let value = (at % 30 != 0).then(|| format!("v{at}"));
        let write = command(at, Condition::None, "k", value.as_deref());
        meta = apply(&store, &meta, &[write], index as u64 + 1).meta;
        written.insert(at, value);
        // Twice: the second time out of what is kept.
        for at in (0..=100).chain(0..=100).rev() {
            let expected = written.range(..=at).next_back();
            let found = match store.get(0, b"k", Version(at), Tier::Disk).unwrap() {
                Lookup::Found(found) => Some((found.version.0, found.value)),
                _ => None,
            };
            let expected = expected.map(|(at, value)| (*at, value.clone().map(Bytes::from)));
            assert_eq!(found, expected, "at {at}");
        }
        let newest = written
            .last_key_value()
            .and_then(|(at, value)| value.as_ref().map(|_| *at));
        let told = store.cached_version(0, b"k").map(|version| version.0);
        assert_eq!(told, newest);
    }
    store.clear(0).unwrap();
    assert_eq!(value(&store, 0, "k"), None);
}

#[test]
fn a_key_that_is_written_again_is_kept_as_it_is_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    let present = Condition::Present;
    let cases = [
        // Whether it is the newest is known only where that was read.
        (10, Condition::None, Some("a"), None),
        (20, Condition::None, Some("b"), None),
        (30, present, Some("c"), Some(30)),
        // It is blocked.
        (25, present, Some("d"), Some(30)),
        (25, Condition::None, Some("e"), None),
        (40, present, Some("f"), Some(40)),
        (50, present, None, None),
        (60, Condition::Absent, Some("g"), Some(60)),
    ];
    for (index, (at, condition, value, kept)) in (1..).zip(cases) {
        let write = command(at, condition, "k", value);
        meta = apply(&store, &meta, &[write], index).meta;
        let cached = store.cached_version(0, b"k").map(|version| version.0);
        assert_eq!(cached, kept, "at {at}");
        if let Some(at) = kept.filter(|kept| *kept == at) {
            let found = store.get(0, b"k", Version(at), Tier::CacheOnly).unwrap();
            let value = value.map(Bytes::from);
            assert_eq!(
                found,
                Lookup::Found(crate::Found {
                    version: Version(at),
                    value
                })
            );
        }
    }
}

#[test]
fn a_store_that_would_wait_for_a_compaction_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &resources(), true).unwrap();
    let limit = |name, files| store.db.set_options(&[(name, files)]).unwrap();
    limit("level0_file_num_compaction_trigger", "100");
    assert!(!store.is_stopped().unwrap());
    limit("level0_stop_writes_trigger", "1");
    store.set(1, &Meta::default()).unwrap();
    store.flush().unwrap();
    assert!(store.is_stopped().unwrap());
    limit("level0_stop_writes_trigger", "36");
    assert!(!store.is_stopped().unwrap());
}
