#![allow(clippy::unwrap_used)]
use super::*;

fn key(name: &'static str) -> Bytes {
    Bytes::from_static(name.as_bytes())
}

#[test]
fn requests_come_back_and_nothing_shorter_or_longer() {
    let writes = [Write {
        key: key("k"),
        value: Some(key("v")),
    }];
    let all = [
        Request::Read {
            at: None,
            keys: vec![key("a"), key("")],
        },
        Request::Read {
            at: Some(Version(3)),
            keys: vec![],
        },
        Request::Page {
            at: Some(Version(3)),
            start: key("a"),
            end: Some(key("b")),
            limit: 7,
        },
        Request::Page {
            at: None,
            start: key(""),
            end: None,
            limit: u32::MAX,
        },
        Request::Write {
            deadline: Version(9),
            floor: Version(1),
            condition: Condition::Absent,
            write: writes[0].clone(),
        },
        Request::Enter(Command::Finalize {
            txn: Version(1),
            is_committed: false,
        }),
        Request::Push {
            txn: Version(1),
            aborts: true,
        },
        Request::Timestamps {
            count: 5,
            above: Version(2),
        },
        Request::Leads,
        Request::Name {
            id: Id {
                ms: 7,
                name: key("7-name"),
                body: 1,
            },
        },
        Request::Unchanged {
            at: Version(9),
            since: Version(5),
            spans: vec![(key("k"), None), (key("l"), Some(key("m")))],
        },
        Request::Update(Update {
            deadline: Version(9),
            floor: Version(1),
            bytes_max: 7,
            reads: vec![key("a"), key("")],
            checks: vec![Check {
                key: key("c"),
                condition: Condition::Present,
            }],
            writes: writes.to_vec(),
            adds: vec![(0, -1)],
            id: Some(Id {
                ms: 7,
                name: key("7-name"),
                body: 1,
            }),
        }),
        Request::Update(Update::default()),
        Request::Lock {
            key: key("k"),
            floor: Version(7),
            reads: vec![key("k"), key("")],
        },
        Request::Unlock { number: 9 },
    ];
    for request in all {
        let mut out = BytesMut::new();
        request.encode(&mut out);
        let bytes = out.freeze();
        assert_eq!(Request::decode(bytes.clone()).unwrap(), request);
        for end in 0..bytes.len() {
            assert!(Request::decode(bytes.slice(..end)).is_err(), "{request:?}");
        }
        let longer = Bytes::from([&bytes[..], &[0]].concat());
        assert!(Request::decode(longer).is_err(), "{request:?}");
    }
}

#[test]
fn answers_come_back_and_nothing_shorter() {
    let all = [
        Answer::Done(Version(1)),
        Answer::ConditionFailed(None),
        Answer::ConditionFailed(Some(Version(2))),
        Answer::TooLate(Version(3)),
        Answer::Blocked(Blocker::Newer {
            key: key("k"),
            at: Version(4),
        }),
        Answer::Blocked(Blocker::Old(Version(4))),
        Answer::Locked {
            number: 7,
            has_waited: true,
            at: Version(3),
            values: vec![None, Some((Version(1), key("v")))],
        },
        Answer::Changed(key("k")),
        Answer::Updated {
            at: Version(3),
            values: vec![None, Some((Version(1), key("v")))],
            sums: vec![-1, i64::MAX],
        },
        Answer::NotAdded(3, "why".to_owned()),
        Answer::TooLarge,
        Answer::Blocked(Blocker::Intent {
            key: key("k"),
            txn: Version(5),
            holder: 6,
        }),
        Answer::Committed,
        Answer::Aborted,
        Answer::Undecided,
        Answer::Forgotten,
        Answer::NotLeader(None),
        Answer::NotLeader(Some(9)),
        Answer::Busy,
        Answer::NoSpace,
        Answer::Clock,
        Answer::Unknown,
        Answer::Failed("why".to_owned()),
        Answer::NoTimestamp("why".to_owned()),
        Answer::Values(vec![None, Some((Version(1), key("v")))]),
        Answer::Page(vec![(key("k"), Version(1), key(""))], Some(key("l"))),
        Answer::Page(vec![], None),
        Answer::Timestamps(Version(8)),
        Answer::CommittedBefore(Version(9)),
        Answer::NameTaken,
        Answer::CheckFailed(3, None),
        Answer::CheckFailed(4, Some(Version(2))),
        Answer::RefusedBefore(Refusal::Conflict),
        Answer::RefusedBefore(Refusal::CheckFailed(4, Some(Version(2)))),
    ];
    for answer in all {
        let bytes = answer.encode();
        assert_eq!(Answer::decode(bytes.clone()).unwrap(), answer);
        for end in 0..bytes.len() {
            assert!(Answer::decode(bytes.slice(..end)).is_err(), "{answer:?}");
        }
    }
}
