//! Queries of views as clients of CouchDB send them, and functions that do what they should not.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const WITHIN: Duration = Duration::from_secs(60);
const KEYS: &str = "/v1/keyspaces/default/keys";
const VIEWS: &str = "/v1/keyspaces/default/views";

fn create(up: &Up, name: &str, map: &str, reduce: Option<&str>) {
    let body = json!({"name": name, "map": map, "reduce": reduce}).to_string();
    let answer = Wire::open(up.ports[0]).request("POST", VIEWS, body);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn status(up: &Up, name: &str) -> Value {
    let path = format!("{VIEWS}/{name}/status");
    Wire::open(up.ports[0]).request("GET", &path, "").json()
}

fn built(up: &Up, name: &str) {
    eventually("the view is built", WITHIN, || {
        status(up, name)["is_whole"] == true
    });
}

/// Reads at the second node, where there is one, so that other shards take part.
fn get(up: &Up, path: &str) -> Answer {
    let port = up.ports[up.ports.len() / 2];
    Wire::open(port).request("GET", &format!("{VIEWS}/{path}"), "")
}

fn post(up: &Up, path: &str, body: &Value) -> Answer {
    let port = up.ports[up.ports.len() / 2];
    let path = format!("{VIEWS}/{path}");
    Wire::open(port).request("POST", &path, body.to_string())
}

fn ok(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn put(up: &Up, key: &str, value: &Value) {
    let path = format!("{KEYS}/{key}");
    let answer = Wire::open(up.ports[0]).request("PUT", &path, value.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn ids(answer: &Value) -> Vec<&str> {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn queries_of_couchdb_are_answered() {
    let up = Up::with(3, &["--shards=2"]);
    for (n, text) in ["a b", "a+b", "c", "c", "d"].into_iter().enumerate() {
        let linked = json!({"_id": format!("doc-{}", 4 - n)});
        put(
            &up,
            &format!("doc-{n}"),
            &json!({"text": text, "n": n, "linked": linked}),
        );
    }
    create(
        &up,
        "texts",
        "function (doc) { emit(doc.text, doc.linked) }",
        None,
    );
    create(
        &up,
        "sums",
        "function (doc) { emit([doc.text, doc.n], [doc.n, 1]) }",
        Some("_sum \n"),
    );
    create(
        &up,
        "last",
        "function (doc) { emit([doc.text, doc.n], doc.n) }",
        Some("_last"),
    );
    create(
        &up,
        "top",
        "function (doc) { emit(doc.text, doc.n) }",
        Some("_top_2"),
    );
    create(
        &up,
        "distinct",
        "function (doc) { emit(doc.text) }",
        Some("_approx_count_distinct"),
    );
    create(
        &up,
        "unfit",
        "function (doc) { emit(doc.n, doc.n == 3 ? 'three' : 1) }",
        Some("_sum"),
    );
    for name in ["texts", "sums", "last", "top", "distinct", "unfit"] {
        built(&up, name);
    }

    // A plus is a space, and its code a plus.
    let spaced = ok(&get(&up, "texts?startkey=%22a+b%22&limit=1&stale=false"));
    assert_eq!(ids(&spaced), ["doc-0"]);
    assert_eq!(spaced["total_rows"], 5);
    assert_eq!(spaced["offset"], Value::Null);
    assert_eq!(ids(&ok(&get(&up, "texts?key=%22a%2Bb%22"))), ["doc-1"]);
    let all = ok(&get(
        &up,
        "texts?skip=2&update_seq=true&sorted=true&update=true",
    ));
    assert_eq!(ids(&all), ["doc-2", "doc-3", "doc-4"]);
    assert_eq!((&all["total_rows"], &all["offset"]), (&json!(5), &json!(2)));
    assert_eq!(all["update_seq"], all["token"]);

    linked_keys_and_lists(&up);
    reduces(&up);
}

/// Documents of documents; options beside a body; several queries.
fn linked_keys_and_lists(up: &Up) {
    let linked = ok(&get(up, "texts?key=%22d%22&include_docs=true"));
    assert_eq!(linked["rows"][0]["doc"]["n"], 0);
    let keys = ok(&post(
        up,
        "texts/query?descending=true",
        &json!({"keys": ["a b", "c"]}),
    ));
    assert_eq!(ids(&keys), ["doc-3", "doc-2", "doc-0"]);
    let bounded = json!({"keys": ["c", "d"], "start_key_doc_id": "doc-3"});
    assert_eq!(
        ids(&ok(&post(up, "texts/query", &bounded))),
        ["doc-3", "doc-4"]
    );
    let queries = json!({"queries": [{"key": "c"}, {"limit": 1}, {"key": "none"}]});
    let several = ok(&post(up, "texts/query", &queries));
    let several = several["results"].as_array().unwrap();
    assert_eq!(
        several.iter().map(|one| ids(one).len()).collect::<Vec<_>>(),
        [2, 1, 0]
    );
}

fn reduces(up: &Up) {
    let values = |answer: Value| -> Vec<Value> {
        let rows = answer["rows"].as_array().unwrap().iter();
        rows.map(|row| row["value"].clone()).collect()
    };
    assert_eq!(values(ok(&get(up, "sums"))), [json!([10, 5])]);
    let groups = values(ok(&get(up, "sums?group_level=1")));
    assert_eq!(
        groups,
        [json!([0, 1]), json!([1, 1]), json!([5, 2]), json!([4, 1])]
    );
    assert_eq!(values(ok(&get(up, "last?group_level=1"))), [0, 1, 3, 4]);
    assert_eq!(values(ok(&get(up, "top"))), [json!([4, 3])]);
    assert_eq!(values(ok(&get(up, "distinct"))), [4]);
    let unfit = get(up, "unfit");
    assert_eq!(unfit.status, 503);
    assert!(unfit.text().contains("doc-3"), "{}", unfit.text());
    assert_eq!(values(ok(&get(up, "unfit?reduce=false"))).len(), 5);
    put(up, "doc-3", &json!({"n": 0}));
    assert_eq!(values(ok(&get(up, "unfit?stale=false"))), [5]);
}

#[test]
fn more_keys_than_one_message_has_are_read_at_all_shards() {
    let up = Up::with(3, &["--shards=2"]);
    for n in 0..20 {
        put(&up, &format!("doc-{n:02}"), &json!({"n": n}));
    }
    create(
        &up,
        "numbers",
        "function (doc) { emit(doc.n, null) }",
        Some("_count"),
    );
    built(&up, "numbers");
    let absent = (1_000..60_000).map(Value::from);
    let keys: Vec<Value> = absent.chain((0..20).map(Value::from)).collect();
    let query = json!({"keys": keys, "limit": 15, "reduce": false, "stale": "false"});
    let rows = ok(&post(&up, "numbers/query", &query));
    let expected: Vec<String> = (0..15).map(|n| format!("doc-{n:02}")).collect();
    assert_eq!(ids(&rows), expected);
    let query = json!({"keys": keys, "group": true, "stale": "false"});
    let groups = ok(&post(&up, "numbers/query", &query));
    assert_eq!(groups["rows"].as_array().unwrap().len(), 20);
}

#[test]
fn a_map_that_fails_for_every_document_takes_over_only_with_force() {
    let up = Up::nodes(3);
    for n in 0..20 {
        put(&up, &format!("doc-{n:02}"), &json!({"n": n}));
    }
    create(
        &up,
        "numbers",
        "function (doc) { emit(doc.n, 1) }",
        Some("_count"),
    );
    built(&up, "numbers");
    let change = |force: bool| {
        let body = json!({"map": "function (doc) { emit(doc.number.value) }", "force": force});
        let path = format!("{VIEWS}/numbers");
        let answer = Wire::open(up.ports[1]).request("PUT", &path, body.to_string());
        assert_eq!(answer.status, 204, "{}", answer.text());
    };
    change(false);
    eventually("the new index is held back", WITHIN, || {
        let state = status(&up, "numbers");
        let why = state["held_back"].as_str().unwrap_or_default();
        why.contains("every document") && why.contains("TypeError")
    });
    assert_eq!(ok(&get(&up, "numbers"))["rows"][0]["value"], 20);
    change(true);
    eventually("it takes over", WITHIN, || {
        let answer = get(&up, "numbers");
        answer.status == 200 && answer.json()["total_rows"] == 0
    });
}

/// The engines that a process has started.
fn engines(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let children = tasks.flatten().filter_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children"));
        Some(
            children
                .ok()?
                .split_whitespace()
                .filter_map(|id| id.parse().ok())
                .collect::<Vec<u32>>(),
        )
    });
    children.flatten().collect()
}

#[test]
fn a_function_that_nothing_interrupts_is_stopped_and_delays_no_other_view() {
    let up = Up::with(1, &["--shards=1"]);
    for n in 0..5 {
        put(&up, &format!("doc-{n}"), &json!({"n": n}));
    }
    let endless = "function (doc) {
        if (doc.n == 2) Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
        emit(doc.n);
    }";
    create(&up, "endless", endless, None);
    let started = Instant::now();
    create(
        &up,
        "other",
        "function (doc) { emit(doc.n, new Date(2024, 0, 1).getTime()) }",
        None,
    );
    built(&up, "other");
    // Both began at the same time; the one takes seconds.
    assert_ne!(
        status(&up, "endless")["is_whole"],
        true,
        "{:?}",
        started.elapsed()
    );
    let other = ok(&get(&up, "other"));
    assert_eq!(
        other["rows"][0]["value"], 1_704_067_200_000_u64,
        "it is not UTC"
    );
    built(&up, "endless");
    assert_eq!(
        ids(&ok(&get(&up, "endless"))),
        ["doc-0", "doc-1", "doc-3", "doc-4"]
    );
    let state = status(&up, "endless");
    let skipped = &state["shards"][0]["skipped"][0];
    assert_eq!(skipped["id"], "doc-2");
    assert!(
        skipped["reason"].as_str().unwrap().contains("too long"),
        "{skipped}"
    );

    let tried = json!({"map": "function () { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) }", "limit": 1});
    let tried = Wire::open(up.ports[0]).request(
        "POST",
        "/v1/keyspaces/default/try-view",
        tried.to_string(),
    );
    assert!(tried.text().contains("too long"), "{}", tried.text());

    // Somebody ends the engines: the documents are not to blame.
    let ended = engines(up.process.id());
    assert!(!ended.is_empty());
    for engine in ended {
        let engine = Pid::from_raw(engine as i32).unwrap();
        kill_process(engine, Signal::KILL).unwrap();
    }
    put(&up, "doc-5", &json!({"n": 5}));
    eventually("the views go on", WITHIN, || {
        let both = ["endless?descending=true", "other?descending=true"].map(|path| get(&up, path));
        both.iter()
            .all(|answer| answer.status == 200 && ids(&answer.json())[0] == "doc-5")
    });
    assert_eq!(status(&up, "other")["shards"][0]["failed"], 0);
    for name in ["endless", "other"] {
        let path = format!("{VIEWS}/{name}");
        assert_eq!(
            Wire::open(up.ports[0]).request("DELETE", &path, "").status,
            204
        );
    }
    let of = up.process.id();
    eventually("engines end with their views", WITHIN, || {
        engines(of).is_empty()
    });
}
