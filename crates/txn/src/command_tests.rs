#![allow(clippy::unwrap_used)]
use dunlin_entry::Stamp;

use super::*;

fn key(name: &'static str) -> Bytes {
    Bytes::from_static(name.as_bytes())
}

fn id() -> Id {
    Id {
        ms: 7,
        name: key("7-name"),
        body: u64::MAX,
    }
}

fn checks() -> Vec<Check> {
    let check = |name, condition| Check {
        key: key(name),
        condition,
    };
    let is = Condition::Is(Stamp::new(Version(9), Origin(3)));
    vec![check("c", Condition::Absent), check("d", is)]
}

fn all() -> Vec<Command> {
    let writes = vec![
        Write {
            key: key("a"),
            value: Some(key("value")),
        },
        Write {
            key: key(""),
            value: None,
        },
    ];
    let conditions = [
        Condition::None,
        Condition::Absent,
        Condition::Present,
        Condition::Is(Stamp::new(Version(9), Origin(3))),
    ];
    let mut all: Vec<Command> = conditions
        .into_iter()
        .zip(writes.iter().cycle())
        .map(|(condition, write)| Command::Write {
            at: Version(7),
            condition,
            write: write.clone(),
        })
        .collect();
    all.extend([
        Command::Commit {
            txn: Version(1),
            participants: vec![4, 5],
            checks: checks(),
            writes: writes.clone(),
            id: None,
        },
        Command::Commit {
            txn: Version(1),
            participants: vec![],
            checks: vec![],
            writes: writes.clone(),
            id: Some(id()),
        },
        Command::Close {
            id: id(),
            refusal: Refusal::Conflict,
        },
        Command::Close {
            id: id(),
            refusal: Refusal::CheckFailed(3, Some(Version(8))),
        },
        Command::Reserve { id: id() },
        Command::Place {
            txn: Version(2),
            holder: 1 << 40,
            checks: checks(),
            writes,
        },
        Command::Finalize {
            txn: Version(3),
            is_committed: true,
        },
        Command::Abort { txn: Version(4) },
        Command::Finished {
            txns: vec![Version(5), Version(6)],
        },
        Command::Watermark { to: Version(7) },
        Command::Dropped { count: 3 },
        Command::Lease { until: Version(8) },
    ]);
    all
}

#[test]
fn what_is_encoded_comes_back_and_nothing_shorter_or_longer() {
    for command in all() {
        let bytes = Bytes::from(command.encode());
        assert_eq!(Command::decode(bytes.clone()).unwrap(), command);
        for end in 0..bytes.len() {
            assert!(Command::decode(bytes.slice(..end)).is_err(), "{command:?}");
        }
        let longer = Bytes::from([&bytes[..], &[0]].concat());
        assert!(Command::decode(longer).is_err(), "{command:?}");
    }
}
