#![allow(clippy::unwrap_used)]
use super::*;
use crate::intent::Intent;

fn key(name: &'static str) -> Bytes {
    Bytes::from_static(name.as_bytes())
}

fn write(name: &'static str, value: Option<&'static str>) -> Write {
    Write {
        key: key(name),
        value: value.map(key),
    }
}

fn is(name: &'static str, at: u64) -> Check {
    Check {
        key: key(name),
        condition: Condition::Is(Stamp::new(Version(at), ORIGIN)),
    }
}

/// `a` has 5 at 10, `b` is deleted at 11, `c` was never there, `d` is on the disk, `big` has much.
fn newest(name: &Bytes) -> Result<Newest, Answer> {
    Ok(match &name[..] {
        b"a" => Newest::Version(Version(10), Some(key("5"))),
        b"b" => Newest::Version(Version(11), None),
        b"c" => Newest::Absent,
        b"big" => Newest::Version(Version(10), Some(vec![0; 101].into())),
        _ => Newest::NotInMemory,
    })
}

fn update() -> Update {
    Update {
        bytes_max: 100,
        ..Update::default()
    }
}

fn made(update: &Update, at: u64, leader: &Leader) -> Result<(Command, Evaluated), Stop> {
    let mut state = State::default();
    let intent = Intent {
        txn: Version(3),
        holder: 9,
        value: None,
    };
    state.load_intent(key("i"), intent);
    make(update, Version(at), (&state, leader), &newest).unwrap()
}

#[test]
fn an_entry_names_the_version_of_every_key_that_was_read() {
    let update = Update {
        reads: vec![key("b"), key("a")],
        checks: vec![Check {
            key: key("c"),
            condition: Condition::Absent,
        }],
        writes: vec![write("a", None), write("z", Some("v"))],
        adds: vec![(0, -3)],
        ..update()
    };
    let (command, evaluated) = made(&update, 20, &Leader::new(Version(0), 1)).unwrap();
    let absent = |name| Check {
        key: key(name),
        condition: Condition::Absent,
    };
    let expected = Command::Commit {
        txn: Version(20),
        participants: vec![],
        checks: vec![is("a", 10), absent("b"), absent("c")],
        writes: vec![write("a", Some("2")), write("z", Some("v"))],
        id: None,
    };
    assert_eq!(command, expected);
    let values = vec![None, Some((Version(10), key("5")))];
    let sums = vec![2];
    assert_eq!(evaluated, Evaluated { values, sums });
}

#[test]
fn what_is_proposed_counts_before_it_is_applied() {
    let mut leader = Leader::new(Version(0), 1);
    let add = Update {
        writes: vec![write("a", None)],
        adds: vec![(0, 1)],
        ..update()
    };
    for (at, sum) in [(20, 6), (21, 7), (22, 8)] {
        let (command, evaluated) = made(&add, at, &leader).unwrap();
        assert_eq!(evaluated.sums, [sum]);
        leader.proposed_expected(&command, at);
    }
    let version = Version(22);
    let blocker = Blocker::Newer {
        key: key("a"),
        at: version,
    };
    assert_eq!(made(&add, 22, &leader), Err(Stop::Blocked(blocker)));
}

#[test]
fn an_update_stops_where_it_cannot_be_evaluated() {
    let mut leader = Leader::new(Version(0), 1);
    let place = Command::Place {
        txn: Version(4),
        holder: 9,
        checks: vec![],
        writes: vec![write("u", None)],
    };
    leader.proposed(&place, 17);
    let read = |name| Update {
        reads: vec![key(name)],
        writes: vec![write("z", None)],
        ..update()
    };
    let check = |check| Update {
        checks: vec![check],
        ..update()
    };
    let newer = Blocker::Newer {
        key: key("a"),
        at: Version(10),
    };
    let intent = Blocker::Intent {
        key: key("i"),
        txn: Version(3),
        holder: 9,
    };
    let text = Update {
        writes: vec![write("a", None)],
        adds: vec![(0, i64::MAX)],
        ..update()
    };
    let why = format!("5 and {} are more than 64 bits", i64::MAX);
    let written = Update {
        writes: vec![write("i", None)],
        ..update()
    };
    let refused = Answer::CheckFailed(0, Some(Version(10)));
    let cases = [
        (read("a"), 10, Stop::Blocked(newer)),
        (read("u"), 20, Stop::Unknown(17)),
        (read("d"), 20, Stop::NotInMemory(vec![key("d")])),
        (read("big"), 20, Stop::TooLarge),
        (read("i"), 20, Stop::Blocked(intent.clone())),
        (written, 20, Stop::Blocked(intent)),
        (check(is("a", 9)), 20, Stop::Refused(refused)),
        (text, 20, Stop::Refused(Answer::NotAdded(0, why))),
    ];
    for (update, at, stop) in cases {
        assert_eq!(made(&update, at, &leader), Err(stop));
    }
    assert!(made(&check(is("a", 10)), 20, &leader).is_ok());
}
