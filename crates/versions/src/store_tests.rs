#![allow(clippy::unwrap_used)]
use super::*;
use crate::{Command, Lookup, Tier, Verdict};
use bytes::Bytes;
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_proto::Condition;
use dunlin_store::CacheSizes;

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

fn command(clock: u64, condition: Condition, key: &str, value: Option<&str>) -> Command {
    Command {
        clock: Version(clock),
        deadline: Version::MAX,
        floor: Version(0),
        condition,
        kind: match value {
            Some(_) => Kind::Put,
            None => Kind::Delete,
        },
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Bytes::copy_from_slice(value.unwrap_or_default().as_bytes()),
    }
}

fn value(store: &Store, place: u32, key: &str) -> Option<String> {
    match store.get(place, key.as_bytes(), Tier::Disk).unwrap() {
        Lookup::Found(found) => found.value.map(|v| String::from_utf8(v.to_vec()).unwrap()),
        _ => None,
    }
}

#[test]
fn of_two_in_one_batch_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let absent = |value| command(5, Condition::Absent, "lock", Some(value));
    let commands = [absent("a"), absent("b")];
    let applied = store.apply(1, &Meta::default(), &commands, (2, 1)).unwrap();
    let first = Version(5);
    assert_eq!(
        applied.verdicts,
        [Verdict::Done(first), Verdict::ConditionFailed(Some(first))]
    );
    assert_eq!(value(&store, 0, "lock").as_deref(), Some("a"));
    let is = Condition::Is(Stamp::new(first, crate::ORIGIN));
    let commands = [
        command(6, is, "lock", None),
        command(6, is, "lock", Some("c")),
        absent("d"),
    ];
    let applied = store.apply(1, &applied.meta, &commands, (5, 1)).unwrap();
    assert_eq!(
        applied.verdicts,
        [
            Verdict::Done(Version(6)),
            Verdict::ConditionFailed(None),
            Verdict::Done(Version(7))
        ]
    );
    assert_eq!(value(&store, 0, "lock").as_deref(), Some("d"));
    assert_eq!(store.groups().unwrap().get(&1), Some(&applied.meta));
    assert_eq!(applied.meta.applied, 5);
}

#[test]
fn pages_hold_the_newest_of_each_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    let mut meta = Meta::default();
    for round in 0..20 {
        let commands: Vec<Command> = ["a", "b", "c", "d"]
            .iter()
            .map(|key| command(0, Condition::None, key, Some(&format!("{key}{round}"))))
            .collect();
        meta = store.apply(1, &meta, &commands, (round, 1)).unwrap().meta;
    }
    let commands = [command(0, Condition::None, "b", None)];
    meta = store.apply(1, &meta, &commands, (21, 1)).unwrap().meta;
    // Another place's are not met.
    store
        .load(
            1,
            &[(
                Bytes::from_static(b"a\0\0\0\0\0\0\0\0\0\0"),
                Bytes::from_static(b"\x01x"),
            )],
        )
        .unwrap();
    let keys = |start: &str, end: Option<&str>, count| {
        let end = end.map(str::as_bytes);
        let page = store
            .page(0, start.as_bytes(), end, 1 << 20, count)
            .unwrap();
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
    store.keep_from_ms(u64::MAX);
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
        .map(|n| command(0, Condition::None, &format!("k{n}"), Some("value")))
        .collect();
    let meta = store
        .apply(1, &Meta::default(), &commands, (9, 2))
        .unwrap()
        .meta;
    let mut rows = store.rows(&meta);
    let late = [command(0, Condition::None, "late", Some("x"))];
    store.apply(1, &meta, &late, (10, 2)).unwrap();
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
    let meta = store
        .apply(1, &Meta::default(), &put(1), (1, 1))
        .unwrap()
        .meta;
    store.flush().unwrap();
    store.apply(1, &meta, &put(2), (2, 1)).unwrap();
    drop(store);
    let store = Store::open(dir.path(), &resources(), true).unwrap();
    assert_eq!(store.groups().unwrap().get(&1), Some(&meta));
    assert_eq!(value(&store, 0, "k").as_deref(), Some("v"));
}
