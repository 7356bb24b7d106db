#![allow(clippy::unwrap_used)]
use super::*;

fn parse(text: &str) -> Result<Body, String> {
    Body::parse(text.as_bytes(), 10)
}

#[test]
fn a_transaction_is_read() {
    let body = parse(
        r#"{"reads": [{"keyspace": "a", "key": "x"}],
            "checks": [{"keyspace": "a", "key": "y", "version": "0000000000000007-0000000000000000"},
                       {"keyspace": "a", "key_base64": "/w==", "exists": false}],
            "writes": [{"keyspace": "b", "key": "x", "value": ""},
                       {"keyspace": "a", "key": "x", "delete": true},
                       {"keyspace": "a", "key": "z", "value_base64": "AP8="}]}"#,
    )
    .unwrap();
    assert_eq!(body.reads[0].key, "x");
    let is = Condition::Is(Stamp::new(Version(7), ORIGIN));
    assert_eq!(body.checks[0].1, is);
    assert_eq!(body.checks[1].1, Condition::Absent);
    assert_eq!(body.checks[1].0.key, &[0xff][..]);
    let writes = body.writes.iter();
    let values: Vec<Option<&[u8]>> = writes.map(|write| write.value.as_deref()).collect();
    assert_eq!(values, [Some(&b""[..]), None, Some(&[0, 0xff])]);
}

#[test]
fn what_is_wrong_is_said_and_where() {
    let wrong = [
        ("", "does not describe"),
        ("[]", "does not describe"),
        ("{}", "empty"),
        (r#"{"read": []}"#, "unknown field"),
        (r#"{"reads": [{"key": "x"}]}"#, "keyspace"),
        (
            r#"{"reads": [{"keyspace": "a"}]}"#,
            "reads[0]: name either key",
        ),
        (
            r#"{"reads": [{"keyspace": "a", "key": ""}]}"#,
            "reads[0]: the key is empty",
        ),
        (
            r#"{"reads": [{"keyspace": "a", "key": "12345678901"}]}"#,
            "at most 10 bytes",
        ),
        (
            r#"{"checks": [{"keyspace": "a", "key": "x"}]}"#,
            "checks[0]: name either version",
        ),
        (
            r#"{"checks": [{"keyspace": "a", "key": "x", "version": "7"}]}"#,
            "checks[0]: version",
        ),
        (
            r#"{"writes": [{"keyspace": "a", "key": "x"}]}"#,
            "writes[0]: name either value",
        ),
        (
            r#"{"writes": [{"keyspace": "a", "key": "x", "value": "1", "delete": true}]}"#,
            "writes[0]: name either value",
        ),
        (
            r#"{"id": "1-a", "reads": [{"keyspace": "a", "key": "x"}]}"#,
            "needs no id",
        ),
        (
            r#"{"id": "abc-1", "writes": [{"keyspace": "a", "key": "x", "value": "1"}]}"#,
            "an id is the time",
        ),
        (
            r#"{"id": "17", "writes": [{"keyspace": "a", "key": "x", "value": "1"}]}"#,
            "an id is the time",
        ),
        (
            r#"{"writes": [{"keyspace": "a", "key": "x", "value_base64": "*"}]}"#,
            "value_base64 is not base64",
        ),
        (
            r#"{"writes": [{"keyspace": "a", "key": "x", "value": "1"}, {"keyspace": "a", "key_base64": "eA==", "value": "2"}]}"#,
            "writes[1]: the key is written twice",
        ),
    ];
    for (text, why) in wrong {
        let error = parse(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn an_id_has_a_time_and_stands_for_one_body() {
    let body = |value: &str, id: &str| {
        let text = format!(
            r#"{{"id": "{id}", "writes": [{{"keyspace": "a", "key": "x", "value": "{value}"}}]}}"#
        );
        parse(&text).unwrap().id.unwrap()
    };
    let id = body("1", "1764000000000-a");
    assert_eq!(
        (id.ms, &id.name[..]),
        (1_764_000_000_000, &b"1764000000000-a"[..])
    );
    assert_eq!(body("1", "1764000000000-a"), id);
    assert_ne!(body("2", "1764000000000-a").body, id.body);
}

#[test]
fn an_answer_has_what_was_read_in_its_order() {
    let place = |key: &'static [u8]| Place {
        keyspace: "a".into(),
        key: Bytes::from_static(key),
    };
    let reads = [
        (place(b"x"), Some((Version(5), Bytes::from_static(b"1")))),
        (place(&[0xff]), None),
    ];
    let expected = json!({
        "reads": [
            {"keyspace": "a", "key": "x", "value": "1", "version": "0000000000000005-0000000000000000"},
            {"keyspace": "a", "key_base64": "/w=="},
        ],
        "version": "0000000000000009-0000000000000000",
    });
    let text: String = pieces(Version(9), reads.into(), &[]).collect();
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    assert_eq!(answer, expected);
    let nothing: String = pieces(Version(9), Vec::new(), &[]).collect();
    let version = "0000000000000009-0000000000000000";
    assert_eq!(
        nothing,
        format!("{{\"reads\":[],\"version\":\"{version}\"}}")
    );
    let told = failed(2, &place(b"x"), None);
    assert_eq!(told["check"]["index"], 2);
    assert_eq!(told["check"]["version"], Value::Null);
}
