#![allow(clippy::unwrap_used)]
use dunlin_entry::{Kind, Origin, Stamp, Vector, Version};
use dunlin_proto::ShardAddress;
use futures_util::FutureExt;

use super::*;
use crate::ring::Ring;

const AT: ShardAddress = ShardAddress { node: 1, shard: 0 };
const WRITER: Origin = Origin::new(2, 0, 1);
const ALL: [u16; 5] = [0, 1, 2, 3, 4];

fn seen(version: u64) -> Vector {
    [(WRITER, Version(version))].into_iter().collect()
}

/// All partitions are as far.
fn token(version: u64) -> Rc<Token> {
    let vectors = ALL.map(|partition| (partition, seen(version)));
    Rc::new(Token::new(1, 5, None, vectors))
}

/// The version's change, in the partition of its number.
fn change(version: u64) -> Rc<Change> {
    Change::new(Entry {
        kind: Kind::Put,
        copy: false,
        from: 1,
        partition: (version % 5) as u16,
        keyspace: 5,
        stamp: Stamp::new(Version(version), WRITER),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: format!("{}-{version}", version % 2).into(),
        value: Bytes::new(),
    })
}

/// A log read up to the record 10, then the changes 11 to 15 with the record 20 and 16 to 20 with the record 30.
fn tail() -> Rc<Tail> {
    let mut ring = Ring::new(10, token(10));
    for (last, versions) in [(20, 11..=15), (30, 16..=20)] {
        let token = token(*versions.end());
        ring.push(last, versions.map(change).collect(), token);
    }
    let tail = Tail::new(AT, ALL.to_vec());
    *tail.ring.borrow_mut() = Some(ring);
    Rc::new(tail)
}

fn joined(tail: &Rc<Tail>, partitions: &[u16], prefix: &str, version: u64, index: Index) -> Joined {
    let open = Open {
        keyspace: 5,
        partitions: partitions.to_vec(),
        keys_only: false,
        prefix: Bytes::copy_from_slice(prefix.as_bytes()),
        from: None,
        until: None,
        is_tail: false,
        who: String::new(),
    };
    let told = Rc::new(Token::clone(&token(version)).narrow(partitions));
    let place = tail.ring.borrow().as_ref().unwrap().find(index).unwrap();
    Joined::new(tail.clone(), &open, told, place, index)
}

/// Versions that it is told, and the least version that its token then names of all its partitions.
fn told(joined: &mut Joined) -> (Vec<u64>, u64) {
    let mut versions = Vec::new();
    while let Some(Some(item)) = joined.next().now_or_never() {
        let What::Entries(changes) = item.what else {
            panic!("{item:?}");
        };
        versions.extend(changes.iter().map(|change| change.stamp.version.0));
    }
    let token = joined.token();
    let least = token.vectors().map(|(_, vector)| vector.get(WRITER).0);
    (versions, least.min().unwrap())
}

#[tokio::test]
async fn who_joins_is_told_what_is_his_and_was_not_told_before() {
    let tail = tail();
    // Partitions, prefix, what was told, the record up to which was read; what is told, the token.
    let every: Vec<u64> = (11..=20).collect();
    for (partitions, prefix, version, index, expected, named) in [
        (&ALL[..], "", 10, 10, every.clone(), 20),
        (&ALL[..], "", 13, 15, every[3..].to_vec(), 20),
        (&ALL[..], "", 15, 20, every[5..].to_vec(), 20),
        (&ALL[..], "1", 13, 15, vec![15, 17, 19], 20),
        // As they are after several sources were lost.
        (&[3, 1][..], "", 10, 10, vec![11, 13, 16, 18], 20),
        (&[4, 0, 2][..], "0", 10, 10, vec![12, 14, 20], 20),
        // He was told more elsewhere, and further than the tail has read.
        (&ALL[..], "", 18, 10, vec![19, 20], 20),
        (&ALL[..], "", 25, 40, vec![], 25),
    ] {
        let mut joined = joined(&tail, partitions, prefix, version, index);
        let (versions, token) = told(&mut joined);
        assert_eq!(
            (versions, token),
            (expected, named),
            "{partitions:?} {prefix} {version} {index}"
        );
    }
}

#[tokio::test]
async fn who_is_ahead_is_told_what_he_lacks_once_the_tail_has_read_it() {
    let tail = tail();
    let mut joined = joined(&tail, &ALL, "", 22, 35);
    assert_eq!(told(&mut joined), (vec![], 22));
    let push = |last, versions: std::ops::RangeInclusive<u64>| {
        let token = token(*versions.end());
        let mut ring = tail.ring.borrow_mut();
        ring.as_mut()
            .unwrap()
            .push(last, versions.map(change).collect(), token);
    };
    push(33, 21..=21);
    assert_eq!(told(&mut joined), (vec![], 22));
    push(40, 22..=24);
    assert_eq!(told(&mut joined), (vec![23, 24], 24));
    tail.end();
    assert!(joined.next().now_or_never().unwrap().is_none());
}
