#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use dunlin_entry::{Origin, Stamp, Vector};
use dunlin_store::CacheSizes;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::collate::decode;
use crate::engines::Engines;
use crate::scan::{Position, Snapshot};
use crate::verify::Comparison;
use crate::wanted::{Group, Range, Wanted};

const MAP: &str =
    "function (doc) { if (doc.bad) throw 'bad'; for (const k of doc.keys) emit(k, doc.n) }";
const PARTITIONS: u16 = 3;

fn place(dir: &TempDir, reduce: Option<Reduce>) -> Place {
    let caches = CacheSizes {
        block_bytes: 1 << 20,
        row_bytes: 0,
    };
    Place {
        path: dir.path().join("view-1-1"),
        map: MAP.to_owned(),
        engines: Engines::InPlace,
        is_backwards: false,
        reduce,
        resources: SharedResources::new(caches, 1).unwrap(),
        has_background: false,
        sabotage: Sabotage::None,
    }
}

fn token(version: u64) -> Token {
    let vector: Vector = [(Origin(1), Version(version))].into_iter().collect();
    Token::new(
        1,
        1,
        None,
        (0..PARTITIONS).map(|partition| (partition, vector.clone())),
    )
}

fn entry(partition: u16, key: &str, version: u64, value: Option<&str>) -> Entry {
    Entry {
        kind: if value.is_some() {
            Kind::Put
        } else {
            Kind::Delete
        },
        copy: false,
        from: 3,
        partition,
        keyspace: 1,
        stamp: Stamp::new(Version(version), Origin(1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Bytes::copy_from_slice(value.unwrap_or_default().as_bytes()),
    }
}

fn wanted(partitions: &[u16], group: Option<Group>) -> Wanted {
    Wanted {
        keyspace: 1,
        view: 1,
        partitions: partitions.to_vec(),
        ranges: vec![Range {
            lower: Vec::new(),
            upper: Vec::new(),
        }]
        .into(),
        first_range: 0,
        has_more: false,
        descending: false,
        group,
        by_keys: true,
        rows_max: u64::MAX,
        targets: None,
    }
}

/// All that is wanted: key, id and value of rows, or key and value of groups.
fn read(index: &Index, wanted: &Wanted) -> Vec<String> {
    let snapshot = Snapshot::new(index.db.clone(), index.reduce);
    read_of(index, snapshot, wanted)
}

/// The same, with sums of stretches.
fn read_stretches(index: &Index, wanted: &Wanted) -> Vec<String> {
    let snapshot = Snapshot::new(index.db.clone(), index.reduce).with_blocks(index.blocks.clone());
    read_of(index, snapshot, wanted)
}

fn read_of(index: &Index, snapshot: Snapshot, wanted: &Wanted) -> Vec<String> {
    let mut position = Position::default();
    let mut all = Vec::new();
    loop {
        let page = snapshot.page(wanted, None, &mut position).unwrap();
        for piece in page.pieces {
            all.push(match piece.what {
                crate::page::What::Row(value) => {
                    let (key, id) = crate::row::row_of(&piece.at).unwrap();
                    let (id, value) = (
                        String::from_utf8_lossy(&id),
                        String::from_utf8_lossy(&value),
                    );
                    format!("{} {id} {value}", decode(key).unwrap())
                }
                crate::page::What::Group(sum) => {
                    let key = if piece.at.is_empty() {
                        "all".to_owned()
                    } else {
                        decode(&piece.at).unwrap()
                    };
                    format!("{key} {}", sum.to_json(index.reduce.unwrap()).unwrap())
                }
            });
        }
        if page.is_last {
            return all;
        }
    }
}

#[test]
fn rows_follow_their_documents() {
    let dir = TempDir::new().unwrap();
    let mut index = Index::open(&place(&dir, Some(Reduce::Sum))).unwrap();
    let all = [0, 1, 2];
    let changes = [
        entry(0, "a", 1, Some(r#"{"keys":["x","y"],"n":1}"#)),
        entry(1, "b", 2, Some(r#"{"keys":["x"],"n":0.5}"#)),
        entry(2, "c", 3, Some(r#"{"bad":1}"#)),
    ];
    index.apply(&changes, &token(3)).unwrap();
    assert_eq!(
        read(&index, &wanted(&all, None)),
        ["\"x\" a 1", "\"x\" b 0.5", "\"y\" a 1"]
    );
    assert_eq!(
        read(&index, &wanted(&all, Some(Group::Exact))),
        ["\"x\" 1.5", "\"y\" 1"]
    );
    assert_eq!(read(&index, &wanted(&[1], Some(Group::All))), ["all 0.5"]);
    assert_eq!(
        index.counts(),
        Counts {
            documents: 2,
            rows: 3,
            failed: 1,
            others: 0,
            writes: index.counts().writes,
        }
    );
    let failed = Index::failed(&index.db, 9).unwrap();
    assert_eq!(
        (&failed[0].id[..], failed[0].reason.as_str()),
        (&b"c"[..], "bad")
    );
    // Older ones change nothing, in whatever order they come; of several in one batch the newest counts.
    let changes = [
        entry(0, "a", 6, None),
        entry(0, "a", 4, Some(r#"{"keys":["z"],"n":9}"#)),
        entry(2, "c", 5, Some(r#"{"keys":["y"],"n":2}"#)),
        entry(1, "b", 1, Some(r#"{"keys":["z"],"n":9}"#)),
    ];
    index.apply(&changes, &token(6)).unwrap();
    index
        .apply(
            &[entry(0, "a", 5, Some(r#"{"keys":["z"],"n":9}"#))],
            &token(6),
        )
        .unwrap();
    assert_eq!(
        read(&index, &wanted(&all, None)),
        ["\"x\" b 0.5", "\"y\" c 2"]
    );
    assert_eq!(
        index.counts(),
        Counts {
            documents: 2,
            rows: 2,
            failed: 0,
            others: 0,
            writes: index.counts().writes,
        }
    );
    // A delete is remembered until nothing older can come.
    assert!(!index.forget_some(Version(5)).unwrap());
    index
        .apply(
            &[entry(0, "a", 5, Some(r#"{"keys":["z"],"n":9}"#))],
            &token(6),
        )
        .unwrap();
    assert_eq!(index.counts().rows, 2);
    assert!(!index.forget_some(Version(6)).unwrap());
    assert_eq!(index.partitions().unwrap(), [1, 2].into());
}

#[test]
fn a_start_goes_on_with_what_was_flushed() {
    let dir = TempDir::new().unwrap();
    let at = place(&dir, Some(Reduce::Count));
    let mut index = Index::open(&at).unwrap();
    let document = r#"{"keys":["x"],"n":1}"#;
    index
        .apply(&[entry(0, "a", 1, Some(document))], &token(1))
        .unwrap();
    index.note(&token(2), [1].into()).unwrap();
    index.flush().unwrap();
    index
        .apply(&[entry(0, "b", 3, Some(document))], &token(3))
        .unwrap();
    drop(index);
    // What was not on disk is gone with all that speaks of it.
    let index = Index::open(&at).unwrap();
    assert_eq!((index.token(), index.counts().rows), (Some(&token(2)), 1));
    assert_eq!(index.building(), &[1].into());
    drop(index);
    // Another function makes another index.
    let other = Place {
        map: "function () {}".to_owned(),
        ..at
    };
    let index = Index::open(&other).unwrap();
    assert_eq!((index.token(), index.counts()), (None, Counts::default()));
}

#[test]
fn what_is_damaged_is_made_anew() {
    let dir = TempDir::new().unwrap();
    let at = place(&dir, None);
    let mut index = Index::open(&at).unwrap();
    index
        .apply(
            &[entry(0, "a", 1, Some(r#"{"keys":[1],"n":1}"#))],
            &token(1),
        )
        .unwrap();
    index.flush().unwrap();
    drop(index);
    for file in std::fs::read_dir(&at.path).unwrap().flatten() {
        if file
            .path()
            .extension()
            .is_some_and(|extension| extension == "sst")
        {
            std::fs::OpenOptions::new()
                .write(true)
                .open(file.path())
                .unwrap()
                .set_len(10)
                .unwrap();
        }
    }
    let index = Index::open(&at).unwrap();
    assert_eq!(index.token(), None);
}

/// What is done to an index.
#[derive(Debug, Clone)]
enum Act {
    Put {
        key: usize,
        keys: Vec<u8>,
        n: i16,
    },
    Bad {
        key: usize,
    },
    Delete {
        key: usize,
    },
    /// What was put before comes again, late.
    Repeat {
        which: usize,
    },
    /// The batch ends.
    Batch,
    Flush,
    Crash,
    /// A partition leaves, and comes back with all that it has.
    Leave {
        partition: u16,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let key = 0_usize..12;
    prop_oneof![
        8 => (key.clone(), prop::collection::vec(0_u8..4, 0..4), any::<i16>())
            .prop_map(|(key, keys, n)| Act::Put { key, keys, n }),
        1 => key.clone().prop_map(|key| Act::Bad { key }),
        3 => key.prop_map(|key| Act::Delete { key }),
        2 => any::<usize>().prop_map(|which| Act::Repeat { which }),
        4 => Just(Act::Batch),
        1 => Just(Act::Flush),
        1 => Just(Act::Crash),
        1 => (0..PARTITIONS).prop_map(|partition| Act::Leave { partition }),
    ]
}

/// The rows of key 0, and those from key 2 on.
fn with_a_gap() -> Arc<[Range]> {
    let key = |n: u8| crate::collate::encode(&n.to_string()).unwrap();
    let first = Range {
        lower: key(0),
        upper: crate::row::after(&key(0)),
    };
    let rest = Range {
        lower: key(2),
        upper: Vec::new(),
    };
    [first, rest].into()
}

fn partition_of(key: usize) -> u16 {
    key as u16 % PARTITIONS
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens, an index is what plain recomputation makes of the newest of each document.
    #[test]
    fn an_index_is_what_recomputation_makes(acts in prop::collection::vec(act(), 1..60), kind in 0_u8..3) {
        let reduce = [Reduce::Count, Reduce::Sum, Reduce::Stats][usize::from(kind)];
        let dir = TempDir::new().unwrap();
        let at = place(&dir, Some(reduce));
        let mut index = Some(Index::open(&at).unwrap());
        let mut log: Vec<Entry> = Vec::new();
        // Up to where the index has taken the log in.
        let mut taken = 0_usize;
        let take = |index: &mut Index, log: &[Entry], taken: &mut usize| {
            index.apply(&log[*taken..], &token(log.len() as u64)).unwrap();
            *taken = log.len();
        };
        for act in acts {
            let own = index.as_mut().unwrap();
            let version = log.len() as u64 + 1;
            let change = |key: usize, value: Option<&str>| {
                entry(partition_of(key), &format!("k{key}"), version, value)
            };
            match act {
                Act::Put { key, keys, n } => {
                    let n = f64::from(n) / 10.0;
                    let n = if reduce == Reduce::Sum && n > 2.0 { format!("[{n},1]") } else { n.to_string() };
                    log.push(change(key, Some(&format!("{{\"keys\":{keys:?},\"n\":{n}}}"))));
                }
                Act::Bad { key } => log.push(change(key, Some("{\"bad\":true}"))),
                Act::Delete { key } => log.push(change(key, None)),
                Act::Repeat { which } if !log.is_empty() => log.push(log[which % log.len()].clone()),
                Act::Repeat { .. } => {}
                Act::Batch => {
                    // A reader before the change finds sums, one behind it must not.
                    for group in [Group::All, Group::Exact] {
                        let mut wanted = wanted(&[0, 1, 2], Some(group));
                        for by_keys in [false, true] {
                            wanted.by_keys = by_keys;
                            let gaps = Wanted { ranges: with_a_gap(), ..wanted.clone() };
                            prop_assert_eq!(read_stretches(own, &gaps), read(own, &gaps));
                            let before = Snapshot::new(own.db.clone(), own.reduce).with_blocks(own.blocks.clone());
                            let plain = read(own, &wanted);
                            prop_assert_eq!(&read_stretches(own, &wanted), &plain);
                            prop_assert_eq!(&read_stretches(own, &wanted), &plain);
                            if by_keys && group == Group::All {
                                take(own, &log, &mut taken);
                            }
                            prop_assert_eq!(&read_of(own, before, &wanted), &plain);
                            prop_assert_eq!(read_stretches(own, &wanted), read(own, &wanted));
                        }
                    }
                }
                Act::Flush => own.flush().unwrap(),
                Act::Crash => {
                    drop(index.take());
                    let opened = Index::open(&at).unwrap();
                    taken = opened.token().map_or(0, |token| {
                        token.vector(0).unwrap().get(Origin(1)).0 as usize
                    });
                    index = Some(opened);
                }
                Act::Leave { partition } => {
                    take(own, &log, &mut taken);
                    while own.remove_some(partition).unwrap() {}
                    let back: Vec<Entry> = log.iter().filter(|e| e.partition == partition).cloned().collect();
                    own.apply(&back, &token(log.len() as u64)).unwrap();
                }
            }
        }
        let mut index = index.unwrap();
        take(&mut index, &log, &mut taken);
        let again = TempDir::new().unwrap();
        let mut anew = Index::open(&place(&again, Some(reduce))).unwrap();
        anew.apply(&log, &token(log.len() as u64)).unwrap();
        let writes = anew.counts().writes;
        prop_assert_eq!(Counts { writes, ..index.counts() }, anew.counts());
        for partition in 0..PARTITIONS {
            let snapshot = Snapshot::new(index.db.clone(), Some(reduce));
            let rows = read(&anew, &wanted(&[partition], None)).len() as u64;
            prop_assert_eq!(snapshot.rows_of(&[partition]).unwrap(), rows);
        }
        let groups = [None, Some(Group::All), Some(Group::Exact)];
        for (partitions, group) in [&[0][..], &[0, 1, 2], &[1, 2]].into_iter().zip(groups) {
            let mut wanted = wanted(partitions, group);
            for descending in [false, true] {
                for by_keys in [false, true] {
                    (wanted.descending, wanted.by_keys) = (descending, by_keys);
                    prop_assert_eq!(read(&index, &wanted), read(&anew, &wanted));
                }
            }
        }
        let snapshot = |index: &Index| Arc::new(Snapshot::new(index.db.clone(), Some(reduce)));
        let comparison = Comparison {
            live: snapshot(&index),
            other: snapshot(&anew),
            whole: (0..PARTITIONS).collect(),
            token: token(log.len() as u64),
        };
        let found = [comparison.documents(b"d".to_vec()), comparison.rows(b"r".to_vec())];
        for found in found {
            prop_assert_eq!(found.unwrap().differences, []);
        }
    }
}

#[test]
fn verification_finds_what_differs() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut live = Index::open(&place(&one, Some(Reduce::Sum))).unwrap();
    let mut anew = Index::open(&place(&two, Some(Reduce::Sum))).unwrap();
    let document = |n: u64| format!("{{\"keys\":[{n}],\"n\":{n}}}");
    let entries: Vec<Entry> = (1..=9)
        .map(|n| entry(0, &format!("k{n}"), n, Some(&document(n))))
        .collect();
    live.apply(&entries, &token(9)).unwrap();
    anew.apply(&entries, &token(9)).unwrap();
    // Behind the position: it says nothing.
    anew.apply(
        &[
            entry(0, "k1", 12, Some(&document(7))),
            entry(0, "new", 13, Some(&document(7))),
        ],
        &token(13),
    )
    .unwrap();
    let key = |n: u64| crate::collate::encode(&n.to_string()).unwrap();
    let row = |n: u64| of_row(&place_of(&key(n), format!("k{n}").as_bytes(), 0));
    let (db, other) = (live.db.clone(), anew.db.clone());
    let differences = || {
        let comparison = Comparison {
            live: Arc::new(Snapshot::new(db.clone(), Some(Reduce::Sum))),
            other: Arc::new(Snapshot::new(other.clone(), Some(Reduce::Sum))),
            whole: [0].into(),
            token: token(9),
        };
        let mut found = comparison.documents(b"d".to_vec()).unwrap().differences;
        found.extend(comparison.rows(b"r".to_vec()).unwrap().differences);
        let found = found
            .into_iter()
            .map(|difference| format!("{}: {}", difference.of, difference.what));
        found.collect::<Vec<_>>()
    };
    assert_eq!(differences(), [""; 0]);
    db.delete(row(2)).unwrap();
    let found = differences();
    assert!(found[0].contains("k2: a row of it is missing"), "{found:?}");
    db.put(row(2), b"\0\x003").unwrap();
    let found = differences();
    assert!(
        found[0].contains("k2: a row of it has another value"),
        "{found:?}"
    );
    assert!(
        found[1].contains("2: what its rows are reduced to"),
        "{found:?}"
    );
    db.put(row(2), b"\0\x002").unwrap();
    assert_eq!(differences(), [""; 0]);
    db.delete(of_document(DOCUMENT, 0, b"k3")).unwrap();
    let found = differences();
    assert!(found[0].contains("k3: it is not indexed"), "{found:?}");
    assert!(
        found[1].contains("k3: there is a row too many"),
        "{found:?}"
    );
    anew.apply(&[entry(0, "k4", 8, Some(&document(1)))], &token(13))
        .unwrap();
    assert!(differences()[1].contains("k4: an older version"));
}
