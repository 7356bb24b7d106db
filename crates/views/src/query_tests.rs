#![allow(clippy::unwrap_used)]

use super::*;

fn query(body: &str, reduce: Option<Reduce>) -> Result<Query, String> {
    let queries = Queries::of_body(&Params::default(), body.as_bytes(), reduce);
    queries
        .map(|mut queries| queries.all.remove(0))
        .map_err(|rejected| rejected.line)
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
        (r#"{"startkee": 1}"#, None, "not known here"),
        (r#"{"start_key": 1, "startkey": 1}"#, None, "one option"),
        (r#"{"sorted": 1}"#, None, "true or false"),
        (r#"{"update": "no"}"#, None, "update is"),
        (r#"{"update": false, "stale": "ok"}"#, None, "take one"),
        (r#"{"queries": []}"#, None, "from 1 to"),
        (r#"{"queries": {}}"#, None, "no array"),
        (r#"{"queries": [{}], "limit": 1}"#, None, "its own"),
        (r#"{"queries": [{"limit": -1}]}"#, None, "whole number"),
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

#[test]
fn the_names_of_couchdb_are_taken() {
    let one = query(
        r#"{"start_key": 1, "start_key_doc_id": "b", "end_key": 1}"#,
        None,
    )
    .unwrap();
    assert_eq!(["a", "b"].map(|id| has(&one, "1", id)), [false, true]);
    let keys =
        r#"{"keys": [3, 1], "descending": true, "startkey_docid": "c", "endkey_docid": "b"}"#;
    let keys = query(keys, None).unwrap();
    assert_eq!(keys.ranges.len(), 2);
    assert!(
        keys.ranges[0].lower < keys.ranges[1].lower,
        "the last key is the first"
    );
    assert_eq!(
        ["a", "b", "c", "d"].map(|id| has(&keys, "3", id)),
        [false, true, true, false]
    );
    for (body, expected) in [
        ("{}", Stale::Ok),
        (r#"{"update": true}"#, Stale::No),
        (r#"{"update": "false"}"#, Stale::Ok),
        (r#"{"update": "lazy"}"#, Stale::UpdateAfter),
        (r#"{"stale": "false"}"#, Stale::No),
    ] {
        assert_eq!(query(body, None).unwrap().stale, expected, "{body}");
    }
    let others = r#"{"sorted": true, "stable": false, "conflicts": true, "attachments": false, "update_seq": true}"#;
    assert!(query(others, None).unwrap().update_seq);
    let list = r#"{"queries": [{"key": 1}, {"limit": 2}]}"#;
    let list = Queries::of_body(&Params::default(), list.as_bytes(), None);
    let list = list.map_err(|rejected| rejected.line).unwrap();
    assert!(list.is_list && list.all[1].limit == 2 && list.all[1].is_from_first);
    assert!(!list.all[0].is_from_first);
}
