use dunlin_entry::{Kind, Origin, Replaces, Stamp};

use super::*;

const OWN: u128 = 7 << 114 | 1;
const THEIRS: u128 = 5 << 114 | 1;
const HERE: Receiver = Receiver {
    cluster: OWN,
    keyspace: 3,
    now_ms: 1_000_000,
    life_ms: 60_000,
    bound_ms: 10_000,
};

fn preamble() -> Preamble {
    Preamble {
        cluster: THEIRS,
        keyspace: 3,
        link: 1,
        sent: Version::new(1_000_000, 0),
        deadline: Version::new(1_060_000, 0),
        is_repair: false,
    }
}

#[test]
fn a_batch_is_admitted_until_its_deadline_or_the_receivers() {
    let at = |ms| Version::new(ms, 0);
    let with = |change: &dyn Fn(&mut Preamble)| {
        let mut preamble = preamble();
        change(&mut preamble);
        admit(&preamble, HERE)
    };
    assert_eq!(with(&|_| {}), Ok(at(1_060_000)));
    assert_eq!(with(&|p| p.cluster = OWN), Err(Refused::SameCluster));
    let same_number = 7 << 114 | 2;
    assert_eq!(with(&|p| p.cluster = same_number), Err(Refused::SameNumber));
    assert_eq!(with(&|p| p.keyspace = 4), Err(Refused::Keyspace));
    // A clock that is ahead within the bound is as good as one that is right.
    let ahead = |ms: u64| move |p: &mut Preamble| p.sent = at(1_000_000 + ms);
    assert_eq!(with(&ahead(10_000)), Ok(at(1_060_000)));
    assert_eq!(with(&ahead(10_001)), Err(Refused::Clock(10_001)));
    // Whatever the sender says, a batch lasts no longer than its life here.
    let until = |ms: u64| move |p: &mut Preamble| p.deadline = at(ms);
    assert_eq!(with(&until(9_000_000)), Ok(at(1_070_000)));
    assert_eq!(with(&until(1_000_001)), Ok(at(1_000_001)));
    assert_eq!(with(&until(1_000_000)), Err(Refused::Late));
    assert_eq!(with(&until(5)), Err(Refused::Late));
}

#[test]
fn own_entries_and_those_with_future_timestamps_are_not_written() {
    let entry = |version, cluster, replaced: Option<u64>| Entry {
        kind: Kind::Put,
        copy: false,
        from: 0,
        partition: 0,
        keyspace: 0,
        stamp: Stamp::new(Version(version), Origin::new(1, 0, 1).in_cluster(cluster)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: replaced.map(|version| Replaces {
            stamp: Stamp::new(Version(version), Origin::new(1, 0, 1)),
            is_mend: false,
        }),
        key: Bytes::from_static(b"k"),
        value: Bytes::new(),
    };
    let cases = [
        ("another's", entry(50, 5, None), false, Sorted::Write),
        ("at the limit", entry(100, 5, None), false, Sorted::Write),
        ("in the future", entry(101, 5, None), false, Sorted::Future),
        (
            "above one in the future",
            entry(50, 5, Some(101)),
            false,
            Sorted::Future,
        ),
        ("its own", entry(50, 7, None), false, Sorted::Own),
        (
            "its own, as a repair",
            entry(50, 7, None),
            true,
            Sorted::Write,
        ),
        (
            "its own, in the future, as a repair",
            entry(101, 7, None),
            true,
            Sorted::Future,
        ),
    ];
    for (what, entry, is_repair, expected) in cases {
        let sorted = sort(&entry, 7, Version(100), is_repair);
        assert_eq!(sorted, expected, "{what}");
    }
}
