use bytes::Bytes;
use dunlin_entry::Origin;

use super::*;

const CLUSTER: u128 = 5 << 114 | 9;
const HOME: &str = "home";
const N1: Origin = Origin::new(1, 0, 1).in_cluster(5);
const N2: Origin = Origin::new(2, 0, 1).in_cluster(5);

fn vector(pairs: &[(Origin, u64)]) -> Vector {
    pairs.iter().map(|(o, v)| (*o, Version(*v))).collect()
}

fn within(next: &'static str) -> Within {
    Within {
        is_complete: true,
        vector: vector(&[(N1, 70)]),
        next: Bytes::from_static(next.as_bytes()),
    }
}

/// A token of partitions with their vectors, and within which of them it stands.
fn token(vectors: &[(u16, &[(Origin, u64)])], places: &[(u16, &'static str)]) -> Token {
    let vectors = vectors.iter().map(|(p, pairs)| (*p, vector(pairs)));
    let mut token = Token::new(CLUSTER, 1, None, vectors);
    for (partition, next) in places {
        token.set_within(*partition, Some(within(next)));
    }
    token
}

fn of(records: &[Record]) -> Progress {
    let (progress, damaged) = Progress::of(records);
    assert_eq!(damaged, Vec::<String>::new());
    progress
}

#[test]
fn what_any_record_says_is_acknowledged() {
    let mut first = Progress::default();
    first.advance(
        &token(&[(0, &[(N1, 10), (N2, 5)]), (1, &[(N1, 3)])], &[]),
        100,
    );
    let mut second = Progress::default();
    second.advance(&token(&[(1, &[(N1, 2), (N2, 8)])], &[]), 50);
    let records = [
        first.record(CLUSTER, 1, &[0, 1], 100),
        second.record(CLUSTER, 1, &[1], 50),
    ];
    let progress = of(&records);
    assert_eq!(progress.vector(0), Some(&vector(&[(N1, 10), (N2, 5)])));
    assert_eq!(progress.vector(1), Some(&vector(&[(N1, 3), (N2, 8)])));
    let expected = token(&[(1, &[(N1, 3), (N2, 8)]), (2, &[])], &[]);
    assert_eq!(progress.token(CLUSTER, 1, &[1, 2]), expected);
}

#[test]
fn a_token_that_forgets_takes_nothing_back() {
    let mut progress = Progress::default();
    progress.advance(&token(&[(0, &[(N1, 10)])], &[]), 1);
    // As when a snapshot begins anew.
    progress.advance(&token(&[(0, &[])], &[(0, "m")]), 2);
    let expected = token(&[(0, &[(N1, 10)])], &[(0, "m")]);
    assert_eq!(progress.token(CLUSTER, 1, &[0]), expected);
    progress.advance(&token(&[(0, &[(N1, 12)])], &[]), 3);
    let expected = token(&[(0, &[(N1, 12)])], &[]);
    assert_eq!(progress.token(CLUSTER, 1, &[0]), expected);
}

#[test]
fn the_place_in_a_snapshot_is_that_of_the_shard_that_sent_it_last() {
    let record = |next, leads: &[u16], now_ms| {
        let mut progress = Progress::default();
        progress.advance(
            &token(&[(0, &[]), (1, &[])], &[(0, next), (1, next)]),
            now_ms,
        );
        progress.record(CLUSTER, 1, leads, now_ms)
    };
    let older = record("c", &[0, 1], 10);
    let newer = record("k", &[1], 20);
    for records in [[older.clone(), newer.clone()], [newer, older]] {
        let progress = of(&records);
        let token = progress.token(CLUSTER, 1, &[0, 1]);
        let places = [0, 1].map(|p| token.within(p).map(|w| w.next.clone()));
        assert_eq!(places, ["c", "k"].map(|next| Some(Bytes::from(next))));
    }
}

#[test]
fn a_link_is_delivered_what_its_partition_furthest_behind_is() {
    let mut first = Progress::default();
    first.deliver(0, HOME, Version(50));
    first.deliver(0, HOME, Version(40));
    first.deliver(1, HOME, Version(30));
    first.deliver(1, "third", Version(90));
    let mut second = Progress::default();
    second.deliver(1, HOME, Version(35));
    let records = [
        first.record(CLUSTER, 1, &[0], 1),
        second.record(CLUSTER, 1, &[1], 2),
    ];
    let progress = of(&records);
    let cases: [(&[u16], &str, Option<u64>); 6] = [
        (&[0], HOME, Some(50)),
        (&[1], HOME, Some(35)),
        (&[0, 1], HOME, Some(35)),
        (&[0, 1, 2], HOME, None),
        (&[1], "third", Some(90)),
        (&[0, 1], "third", None),
    ];
    for (partitions, home, expected) in cases {
        let delivered = progress.delivered(partitions.iter().copied(), home);
        assert_eq!(delivered, expected.map(Version), "{partitions:?} {home}");
    }
}

#[test]
fn a_damaged_record_says_nothing() {
    let damaged = Record {
        token: "!".to_owned(),
        ..Record::default()
    };
    let (progress, named) = Progress::of(&[damaged]);
    assert_eq!((progress, named.len()), (Progress::default(), 1));
}
