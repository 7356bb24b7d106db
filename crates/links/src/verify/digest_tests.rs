use dunlin_entry::{Origin, Position, Stamp};
use proptest::prelude::*;

use super::*;

const SCOPE: Scope = Scope {
    until: Version(100),
    expires_ms: 1_000,
    partition: None,
    end: None,
};

fn record(key: &[u8]) -> ItemRef<'_> {
    ItemRef {
        key,
        stamp: Stamp::new(Version(100), Origin(1)),
        from: 3,
        tombstone: false,
        is_expiry: false,
        expiry_ms: None,
        replaces: None,
        logged: None,
        value: b"v",
    }
}

#[test]
fn deletes_later_versions_and_values_that_end_are_left_out() {
    let scope = Scope {
        end: Some(Bytes::from_static(b"m")),
        ..SCOPE
    };
    let plain = record(b"k");
    assert!(scope.has(&plain));
    assert!(!scope.has(&record(b"m")));
    assert!(!scope.has(&ItemRef {
        tombstone: true,
        ..plain
    }));
    let later = Stamp::new(Version(101), Origin(1));
    assert!(!scope.has(&ItemRef {
        stamp: later,
        ..plain
    }));
    for (expiry_ms, has) in [(1_000, false), (1_001, true)] {
        let ends = ItemRef {
            expiry_ms: Some(expiry_ms),
            ..plain
        };
        assert_eq!(scope.has(&ends), has);
    }
}

#[test]
fn a_key_is_of_one_partition_of_the_larger_count() {
    for key in 0..200_u32 {
        let key = key.to_be_bytes();
        let has = |partition: u16| {
            let scope = Scope {
                partition: Some((partition, 16)),
                ..SCOPE
            };
            scope.has(&record(&key))
        };
        let of: Vec<u16> = (0..16).filter(|partition| has(*partition)).collect();
        assert_eq!(of, [partition_of(&key, 16)]);
        // A smaller count has it in the partition that the larger one is read from.
        assert_eq!(of[0] % 4, partition_of(&key, 4));
    }
}

fn digest_of(records: &[ItemRef<'_>]) -> Digest {
    let mut digest = Digest::default();
    for record in records {
        digest.add(&hashed(Bytes::copy_from_slice(record.key), record));
    }
    digest
}

#[test]
fn places_in_logs_do_not_count_and_all_else_does() {
    let plain = record(b"k");
    let of = |record: ItemRef<'_>| digest_of(&[record]);
    let elsewhere = ItemRef {
        from: 1,
        logged: Some(Position {
            origin: Origin(9),
            sequence: Version(7),
        }),
        ..plain
    };
    assert_eq!(of(plain), of(elsewhere));
    let others = [
        ItemRef { key: b"j", ..plain },
        ItemRef {
            value: b"w",
            ..plain
        },
        ItemRef {
            expiry_ms: Some(9_000),
            ..plain
        },
        ItemRef {
            stamp: Stamp::new(Version(99), Origin(1)),
            ..plain
        },
    ];
    for other in others {
        assert_ne!(of(plain), of(other));
    }
}

proptest! {
    #[test]
    fn the_order_of_records_does_not_count(mut keys in proptest::collection::vec(any::<[u8; 4]>(), 0..40)) {
        let forwards = digest_of(&keys.iter().map(|key| record(key)).collect::<Vec<_>>());
        keys.reverse();
        let backwards = digest_of(&keys.iter().map(|key| record(key)).collect::<Vec<_>>());
        prop_assert_eq!(forwards, backwards);
        prop_assert_eq!(forwards.records, keys.len() as u64);
    }
}
