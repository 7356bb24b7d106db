#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

/// Ranges follow each other without gap or overlap, from the beginning to the end of all keys.
fn assert_covering(ranges: &[Range]) {
    assert!(ranges.first().unwrap().start.is_none());
    assert!(ranges.last().unwrap().end.is_none());
    for pair in ranges.windows(2) {
        assert!(pair[0].end.is_some() && pair[0].end == pair[1].start);
    }
    for range in ranges {
        if let (Some(start), Some(end)) = (&range.start, &range.end) {
            assert!(start < end, "{range:?}");
        }
    }
}

/// Sizes as they would be if `keys` had one byte each.
fn bytes_of(keys: &[Vec<u8>]) -> impl Fn(&[u8], &[u8]) -> u64 {
    |start, end| {
        let at = |key: &[u8]| keys.partition_point(|k| k.as_slice() < key);
        at(end).saturating_sub(at(start)) as u64
    }
}

fn table(keys: &[Vec<u8>]) -> Table {
    Table {
        smallest: keys.first().unwrap().clone(),
        largest: keys.last().unwrap().clone(),
        size_bytes: keys.len() as u64,
    }
}

proptest! {
    #[test]
    fn whatever_the_tables_every_key_is_in_one_range(
        tables in proptest::collection::vec(
            proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..5), 1..40),
            0..8,
        ),
        range_bytes in 1u64..50,
    ) {
        let keys: Vec<Vec<u8>> = tables.iter().flatten().cloned().collect::<BTreeSet<_>>()
            .into_iter().collect();
        let tables: Vec<Table> = tables.iter()
            .map(|keys| table(&keys.iter().cloned().collect::<Vec<_>>())).collect();
        assert_covering(&split("cf", &tables, range_bytes, bytes_of(&keys)));
    }
}

#[test]
fn an_empty_column_family_is_one_range() {
    let ranges = split("cf", &[], 64, |_, _| 0);
    assert_eq!(ranges.len(), 1);
    assert_covering(&ranges);
}

#[test]
fn one_large_table_of_skewed_keys_is_cut_evenly() {
    // Nearly all keys share a long prefix, as keys of real programs do.
    let keys: Vec<Vec<u8>> = (0..10_000u32)
        .map(|i| format!("user/profile/{:08}", i * i / 7).into_bytes())
        .chain([b"a".to_vec(), b"zebra".to_vec()])
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let ranges = split("cf", &[table(&keys)], 500, bytes_of(&keys));
    assert_covering(&ranges);
    let count = |range: &Range| {
        let within = |key: &&Vec<u8>| {
            range.start.as_ref().is_none_or(|start| start.0 <= **key)
                && range.end.as_ref().is_none_or(|end| end.0 > **key)
        };
        keys.iter().filter(within).count()
    };
    assert!(ranges.len() >= 15, "{}", ranges.len());
    assert!(ranges.iter().all(|range| count(range) <= 1_100));
}

#[test]
fn many_small_tables_are_gathered() {
    let tables: Vec<Table> = (0..100u32)
        .map(|i| Table {
            smallest: (i * 10).to_be_bytes().to_vec(),
            largest: (i * 10 + 9).to_be_bytes().to_vec(),
            size_bytes: 10,
        })
        .collect();
    let ranges = split("cf", &tables, 200, |_, _| panic!("nothing to refine"));
    assert_covering(&ranges);
    assert!((4..=6).contains(&ranges.len()), "{}", ranges.len());
}

#[test]
fn a_large_value_is_in_one_range_and_makes_no_empty_ones() {
    let sizes = |start: &[u8], end: &[u8]| {
        let at = |key: &[u8]| match key <= b"key-1".as_slice() {
            true => 0,
            false if key <= b"key-2".as_slice() => 1_000_000,
            false => 1_000_010,
        };
        at(end) - at(start)
    };
    let table = Table {
        smallest: b"key-1".to_vec(),
        largest: b"key-3".to_vec(),
        size_bytes: 1_000_010,
    };
    let ranges = split("cf", &[table], 1_000, sizes);
    assert_covering(&ranges);
    assert!(ranges.len() <= 4, "{ranges:?}");
}
