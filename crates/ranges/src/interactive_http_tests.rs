#![allow(clippy::unwrap_used)]
use dunlin_proto::ShardAddress;

use super::*;

fn place(key: &'static str) -> Place {
    Place {
        keyspace: "bank".into(),
        key: Bytes::from_static(key.as_bytes()),
    }
}

#[test]
fn steps_and_what_comes_of_them_come_back() {
    let id = TxnId {
        at: ShardAddress { node: 17, shard: 3 },
        txn: Version(0x1234_5678_9abc_def0),
        secret: 7,
    };
    assert_eq!(id.to_string().parse::<TxnId>().unwrap(), id);
    for wrong in [
        "",
        "x",
        "1-2",
        "1-2-3-",
        "1-2-3-4-5",
        "1-2-3-fffffffffffffffff",
    ] {
        assert!(wrong.parse::<TxnId>().is_err(), "{wrong}");
    }
    let steps = [
        Step::Get(place("a")),
        Step::Put(place("a"), Some(Bytes::from_static(b"v"))),
        Step::Put(place("a"), None),
        Step::Scan {
            keyspace: "bank".to_owned(),
            start: Bytes::from_static(b"a"),
            end: Some(Bytes::from_static(b"b")),
            limit: 5,
        },
        Step::Scan {
            keyspace: "bank".to_owned(),
            start: Bytes::new(),
            end: None,
            limit: SCANNED_MAX,
        },
        Step::Commit(vec![]),
        Step::Commit(vec!["bank".to_owned(), "b".to_owned()]),
        Step::Abort,
        Step::Look,
    ];
    for step in steps {
        let mut out = BytesMut::new();
        let left = Duration::from_millis(4_321);
        put_within(&mut out, left);
        encode(id, &step, &mut out);
        let bytes = out.freeze();
        assert_eq!(decode(bytes.clone()).unwrap(), (id, left, step));
        for end in 0..bytes.len() {
            assert!(decode(bytes.slice(..end)).is_err());
        }
    }
    let value = Bytes::from_static(b"v");
    let written = |first| Written { writes: 3, first };
    let all = [
        StepReply::Value(None),
        StepReply::Value(Some((Some(Version(3)), value.clone()))),
        StepReply::Value(Some((None, value.clone()))),
        StepReply::Rows(vec![(Bytes::from_static(b"k"), None, value)]),
        StepReply::Kept(written(Some(place("a")))),
        StepReply::Committed(Version(9)),
        StepReply::Conflict,
        StepReply::Aborted,
        StepReply::Open(written(Some(place("b")))),
        StepReply::Open(written(None)),
        StepReply::Committing,
        StepReply::Gone,
        StepReply::Refused(413, "why".to_owned()),
    ];
    for told in all {
        assert_eq!(decode_reply(encode_reply(&told)).unwrap(), told);
    }
}

#[test]
fn the_first_key_is_encoded_as_a_query_takes_it() {
    let first = Some(Place {
        keyspace: "bank".into(),
        key: Bytes::from_static(b"a/b c&\xff"),
    });
    let written = written_json(json!({}), &Written { writes: 2, first });
    let expected = json!({"writes": 2, "first": "bank/a/b%20c%26%FF"});
    assert_eq!(written, expected);
    let nothing = written_json(json!({}), &Written::default());
    assert_eq!(nothing, json!({"writes": 0}));
}

#[test]
fn the_key_written_first_is_named_with_its_keyspace() {
    let of = |text: &'static str| place_of(&Bytes::from_static(text.as_bytes()));
    assert_eq!(of("bank/a").unwrap(), place("a"));
    assert_eq!(of("bank/a/b").unwrap().key, "a/b");
    for wrong in ["bank", "bank/", ""] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}
