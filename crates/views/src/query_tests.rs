#![allow(clippy::unwrap_used)]

use super::*;

fn query(body: &str, reduce: Option<Reduce>) -> Result<Query, String> {
    Query::of_body(body.as_bytes(), reduce).map_err(|rejected| rejected.line)
}

/// Whether a row with this key, of this document, is in the range.
fn has(query: &Query, key: &str, id: &str) -> bool {
    let place = crate::row::place_of(&encode(key).unwrap(), id.as_bytes(), 0);
    let is_in =
        |range: &Range| place >= range.lower && (range.upper.is_empty() || place < range.upper);
    query.ranges.iter().any(is_in)
}

#[test]
fn ranges_are_as_documented() {
    let all = query("{}", None).unwrap();
    assert!(has(&all, "null", "a") && has(&all, "{\"z\":1}", "z"));
    let one = query(r#"{"key": "b"}"#, None).unwrap();
    assert!(has(&one, "\"b\"", "x") && !has(&one, "\"B\"", "x") && !has(&one, "\"ba\"", "x"));
    let some = query(r#"{"startkey": 2, "endkey": 4}"#, None).unwrap();
    assert_eq!(
        [1, 2, 3, 4, 5].map(|n| has(&some, &n.to_string(), "x")),
        [false, true, true, true, false]
    );
    let open = query(
        r#"{"startkey": 2, "endkey": 4, "inclusive_end": false}"#,
        None,
    )
    .unwrap();
    assert_eq!(
        [1, 2, 3, 4, 5].map(|n| has(&open, &n.to_string(), "x")),
        [false, true, true, false, false]
    );
    let down = query(r#"{"startkey": 4, "endkey": 2, "descending": true}"#, None).unwrap();
    assert_eq!(
        [1, 2, 3, 4, 5].map(|n| has(&down, &n.to_string(), "x")),
        [false, true, true, true, false]
    );
    let down = query(
        r#"{"startkey": 4, "endkey": 2, "descending": true, "inclusive_end": false}"#,
        None,
    )
    .unwrap();
    assert_eq!(
        [1, 2, 3, 4, 5].map(|n| has(&down, &n.to_string(), "x")),
        [false, false, true, true, false]
    );
    let ids = r#"{"startkey": 1, "startkey_docid": "b", "endkey": 2, "endkey_docid": "b"}"#;
    let ids = query(ids, None).unwrap();
    assert_eq!(
        ["a", "b", "c"].map(|id| has(&ids, "1", id)),
        [false, true, true]
    );
    assert_eq!(
        ["a", "b", "c"].map(|id| has(&ids, "2", id)),
        [true, true, false]
    );
    let key = r#"{"key": 1, "startkey_docid": "b", "endkey_docid": "c", "inclusive_end": false}"#;
    let key = query(key, None).unwrap();
    assert_eq!(
        ["a", "b", "c"].map(|id| has(&key, "1", id)),
        [false, true, false]
    );
    let many = query(r#"{"keys": [3, 1, 3]}"#, None).unwrap();
    assert_eq!(
        (
            many.ranges.len(),
            has(&many, "1", "x"),
            has(&many, "2", "x")
        ),
        (3, true, false)
    );
    let prefix = query(r#"{"startkey": ["a"], "endkey": ["a", {}]}"#, None).unwrap();
    assert_eq!(
        ["[\"a\"]", "[\"a\",7]", "[\"b\"]"].map(|k| has(&prefix, k, "x")),
        [true, true, false]
    );
}

#[test]
fn rows_are_reduced_where_the_view_has_a_reduce_unless_that_is_not_wanted() {
    let group = |body, reduce| query(body, reduce).map(|query| query.group);
    let count = Some(Reduce::Count);
    assert_eq!(group("{}", None), Ok(None));
    assert_eq!(group("{}", count), Ok(Some(Group::All)));
    assert_eq!(group(r#"{"reduce": false}"#, count), Ok(None));
    assert_eq!(group(r#"{"group": true}"#, count), Ok(Some(Group::Exact)));
    assert_eq!(
        group(r#"{"group": true, "group_level": 2}"#, count),
        Ok(Some(Group::Level(2)))
    );
    assert_eq!(group(r#"{"group_level": 0}"#, count), Ok(Some(Group::All)));
    assert_eq!(group(r#"{"group": false}"#, count), Ok(Some(Group::All)));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let count = Some(Reduce::Count);
    for (body, reduce, part) in [
        (r#"[]"#, None, "no JSON object"),
        (r#"{"key": 1, "keys": [1]}"#, None, "three ways"),
        (r#"{"key": 1, "startkey": 1}"#, None, "three ways"),
        (r#"{"startkey": 2, "endkey": 1}"#, None, "exchange"),
        (
            r#"{"startkey": 1, "endkey": 2, "descending": true}"#,
            None,
            "exchange",
        ),
        (r#"{"keys": 7}"#, None, "no JSON array"),
        (r#"{"limit": -1}"#, None, "whole number"),
        (r#"{"limit": 1.5}"#, None, "whole number"),
        (r#"{"skip": "1"}"#, None, "whole number"),
        (r#"{"descending": 1}"#, None, "true or false"),
        (r#"{"start_key": 1}"#, None, "not known here"),
        (r#"{"stale": "no"}"#, None, "stale is"),
        (r#"{"startkey_docid": 1}"#, None, "a string"),
        (r#"{"reduce": true}"#, None, "no reduce"),
        (r#"{"group": true}"#, None, "only what is reduced"),
        (
            r#"{"group_level": 1, "reduce": false}"#,
            count,
            "only what is reduced",
        ),
        (r#"{"include_docs": true}"#, count, "include_docs"),
        (r#"{"keys": [1]}"#, count, "group=true"),
        (r#"{"keys": [1], "group_level": 1}"#, count, "group=true"),
    ] {
        let line = query(body, reduce).unwrap_err();
        assert!(line.contains(part), "{body}: {line}");
    }
    assert!(query(r#"{"include_docs": true, "reduce": false}"#, count).is_ok());
    assert!(query(r#"{"keys": [1], "group": true}"#, count).is_ok());
}
