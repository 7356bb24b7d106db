#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::time::Duration;

use super::*;

fn place(start: &'static str) -> Place {
    Place {
        keyspace: 1,
        partitions: vec![3, 4],
        start: start.into(),
        end: None,
    }
}

#[test]
fn a_walk_is_taken_once_and_only_where_it_goes_on() {
    let now = Instant::now();
    let mut walks = Walks::default();
    assert!(walks.keep(place("m"), 'a', 10, now, now).is_empty());
    assert!(walks.keep(place("m"), 'b', 20, now, now).is_empty());
    assert_eq!(walks.bytes(), 30);
    let others = [
        place("n"),
        Place {
            keyspace: 2,
            ..place("m")
        },
        Place {
            partitions: vec![3],
            ..place("m")
        },
        Place {
            end: Some("z".into()),
            ..place("m")
        },
    ];
    for other in others {
        assert_eq!(walks.take(&other), None, "{other:?}");
    }
    assert_eq!(walks.take(&place("m")), Some(('b', now)));
    assert_eq!(walks.take(&place("m")), Some(('a', now)));
    assert_eq!((walks.take(&place("m")), walks.bytes()), (None, 0));
}

#[test]
fn the_oldest_give_way_to_more_and_to_larger_ones() {
    let now = Instant::now();
    let mut walks = Walks::default();
    for number in 0..WALKS {
        assert!(walks.keep(place("m"), number, 1, now, now).is_empty());
    }
    assert_eq!(walks.keep(place("m"), 100, 1, now, now), [0]);
    let gone = walks.keep(place("m"), 200, WALKS_BYTES - 2, now, now);
    assert_eq!(gone.len(), WALKS - 2);
    assert_eq!(walks.bytes(), WALKS_BYTES);
    // One that is larger than all together may be goes by itself, and leaves the others.
    assert_eq!(
        walks.keep(place("m"), 300, WALKS_BYTES + 1, now, now),
        [300]
    );
    assert_eq!(walks.bytes(), WALKS_BYTES);
}

#[test]
fn an_old_one_goes_whoever_reads_it() {
    let begun = Instant::now();
    let before = begun + WALK_AGE - Duration::from_millis(1);
    let after = begun + WALK_AGE;
    let mut walks = Walks::default();
    assert!(walks.keep(place("m"), 'a', 1, begun, before).is_empty());
    assert!(walks.expire(before).is_empty());
    assert!(walks.keep(place("n"), 'b', 1, before, before).is_empty());
    assert_eq!(walks.expire(after), ['a']);
    assert_eq!(walks.keep(place("m"), 'c', 1, begun, after), ['c']);
    assert_eq!(walks.take(&place("n")), Some(('b', before)));
}
