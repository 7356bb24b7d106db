use bytes::Bytes;
use dunlin_entry::{Kind, Origin, Position, Stamp, Version};

use super::*;

const OURS: Origin = Origin::new(1, 0, 1).in_cluster(5);
const THEIRS: Origin = Origin::new(1, 0, 1).in_cluster(7);
const THIRD: Origin = Origin::new(1, 0, 1).in_cluster(9);

fn entry(made: Stamp, logged: Option<Version>) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 1,
        partition: 0,
        keyspace: 1,
        stamp: made,
        logged: logged.map(|sequence| Box::new(Position::new(OURS, sequence))),
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"k"),
        value: Bytes::new(),
    }
}

#[test]
fn what_the_target_made_or_was_sent_before_is_not_sent() {
    let sent: Vector = [(OURS, Version(100)), (THIRD, Version(900))]
        .into_iter()
        .collect();
    let at = |version, origin| Stamp::new(Version(version), origin);
    // Version and origin, the place in the log here, whether it is a stored record.
    let cases = [
        ("own, of the tail", at(50, OURS), None, false, Pick::Send),
        (
            "own, stored, sent before",
            at(100, OURS),
            None,
            true,
            Pick::SentBefore,
        ),
        (
            "own, stored, not sent",
            at(101, OURS),
            None,
            true,
            Pick::Send,
        ),
        (
            "the end of a value, logged later",
            at(50, OURS),
            Some(120),
            true,
            Pick::Send,
        ),
        (
            "a third cluster's, sent before",
            at(950, THIRD),
            Some(99),
            true,
            Pick::SentBefore,
        ),
        // Its version and origin are no position: the vector says nothing of it.
        (
            "a third cluster's, not sent",
            at(50, THIRD),
            Some(101),
            true,
            Pick::Send,
        ),
        (
            "the target's",
            at(50, THEIRS),
            Some(10),
            false,
            Pick::TheirOwn,
        ),
        (
            "the target's, stored",
            at(50, THEIRS),
            Some(500),
            true,
            Pick::TheirOwn,
        ),
    ];
    for (what, made, logged, is_stored, expected) in cases {
        let entry = entry(made, logged.map(Version));
        let picked = pick(&entry, 7, is_stored.then_some(&sent));
        assert_eq!(picked, expected, "{what}");
    }
}
