//! Views, as who makes and asks them sees them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::child::dunlin;
use crate::harness::curl::curl_with;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEYS: &str = "/v1/keyspaces/default/keys";
const VIEWS: &str = "/v1/keyspaces/default/views";
const BY_KIND: &str = "function (doc, meta) {
  if (!doc.kind) throw new Error('no kind');
  emit([doc.kind, doc.n], doc.n);
}";

fn create(up: &Up, name: &str, map: &str, reduce: Option<&str>) {
    let body = json!({"name": name, "map": map, "reduce": reduce}).to_string();
    let made = curl_with(&["-d", "@-", &up.url(0, VIEWS)], body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
}

fn built(port: u16, name: &str) {
    eventually("the view is built", Duration::from_secs(30), || {
        let answer = ask(port, &format!("{name}/status"));
        answer.status == 200 && answer.json()["is_whole"] == true
    });
}

fn ask(port: u16, path: &str) -> Answer {
    Wire::open(port).request("GET", &format!("{VIEWS}/{path}"), "")
}

fn rows(port: u16, path: &str) -> Vec<Value> {
    let answer = ask(port, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let answer = answer.json();
    assert!(answer["token"].is_string());
    answer["rows"].as_array().unwrap().clone()
}

fn put(port: u16, key: &str, value: &Value) {
    let path = format!("{KEYS}/{key}");
    let answer = Wire::open(port).request("PUT", &path, value.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Documents of three kinds, numbered, and one that has none.
fn fill(up: &Up, count: u64) {
    for n in 0..count {
        let kind = ["a", "b", "c"][n as usize % 3];
        let port = up.ports[n as usize % up.ports.len()];
        put(port, &format!("doc-{n:03}"), &json!({"kind": kind, "n": n}));
    }
    put(up.ports[0], "bad", &json!({"n": 1}));
}

#[test]
fn rows_are_told_in_order_from_all_nodes_and_reduced() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 60);
    create(&up, "kinds", BY_KIND, Some("_sum"));
    built(up.ports[0], "kinds");
    for port in &up.ports {
        let all = rows(*port, "kinds?reduce=false");
        let keys: Vec<(&str, u64)> = all
            .iter()
            .map(|row| {
                (
                    row["key"][0].as_str().unwrap(),
                    row["key"][1].as_u64().unwrap(),
                )
            })
            .collect();
        let mut expected: Vec<(&str, u64)> = (0..60)
            .map(|n| (["a", "b", "c"][n as usize % 3], n))
            .collect();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(all[0]["id"], "doc-000");
        let sum = |kind: u64| -> u64 { (0..60).filter(|n| n % 3 == kind).sum() };
        let groups = rows(*port, "kinds?group_level=1");
        let expected = [(0, "a"), (1, "b"), (2, "c")];
        let expected = expected.map(|(n, kind)| json!({"key": [kind], "value": sum(n)}));
        assert_eq!(groups, expected);
        let total: u64 = (0..60).sum();
        assert_eq!(rows(*port, "kinds"), [json!({"key": null, "value": total})]);
        assert_eq!(
            rows(*port, "kinds?group=true&skip=1&limit=1"),
            [json!({"key": ["a", 3], "value": 3})]
        );
        let range = "kinds?reduce=false&startkey=%5B%22b%22%5D&endkey=%5B%22b%22,%7B%7D%5D";
        assert_eq!(rows(*port, range).len(), 20);
        let down = rows(
            *port,
            "kinds?reduce=false&descending=true&limit=2&include_docs=true",
        );
        assert_eq!(down[0]["key"], json!(["c", 59]));
        assert_eq!(down[1]["doc"], json!({"kind": "c", "n": 56}));
        let keys = rows(
            *port,
            "kinds?reduce=false&keys=%5B%5B%22c%22,2%5D,%5B%22x%22%5D,%5B%22a%22,0%5D%5D",
        );
        let ids: Vec<&Value> = keys.iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, ["doc-002", "doc-000"]);
    }
    let shown = ask(up.ports[1], "kinds/status").json();
    let shards = shown["shards"].as_array().unwrap();
    let skipped = shards
        .iter()
        .flat_map(|shard| shard["skipped"].as_array().unwrap());
    let skipped: Vec<&Value> = skipped.collect();
    assert!(!skipped.is_empty());
    assert!(
        skipped
            .iter()
            .all(|s| s["id"] == "bad" && s["reason"] == "line 2: Error: no kind")
    );
}

#[test]
fn a_function_reduces_rows_of_all_shards() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 300);
    // The greatest, and how many there are: not to be had from less than all.
    let reduce = "function (keys, values, rereduce) {
      if (rereduce) return {
        most: Math.max(...values.map((value) => value.most)),
        count: sum(values.map((value) => value.count)),
      };
      return { most: Math.max(...values), count: values.length };
    }";
    create(&up, "most", BY_KIND, Some(reduce));
    built(up.ports[0], "most");
    for port in &up.ports {
        let groups = rows(*port, "most?group_level=1");
        let expected = [("a", 297), ("b", 298), ("c", 299)];
        let expected = expected
            .map(|(kind, most)| json!({"key": [kind], "value": {"most": most, "count": 100}}));
        assert_eq!(groups, expected);
        let all = rows(*port, "most");
        assert_eq!(
            all,
            [json!({"key": null, "value": {"most": 299, "count": 300}})]
        );
        let some = rows(*port, "most?startkey=%5B%22c%22%5D&endkey=%5B%22c%22,8%5D");
        assert_eq!(
            some,
            [json!({"key": null, "value": {"most": 8, "count": 3}})]
        );
    }
    create(
        &up,
        "fails",
        BY_KIND,
        Some("function (keys, values) { throw new Error('no') }"),
    );
    built(up.ports[0], "fails");
    let answer = ask(up.ports[0], "fails");
    assert_eq!(answer.status, 503);
    assert!(
        answer
            .text()
            .contains("the reduce function fails: line 1: Error: no"),
        "{}",
        answer.text()
    );
    let body = json!({"name": "v", "map": BY_KIND, "reduce": "function ("}).to_string();
    let refused = Wire::open(up.ports[0]).request("POST", VIEWS, &body);
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("reduce: "), "{}", refused.text());
}

#[test]
fn a_view_that_is_changed_answers_as_before_until_it_is_built() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 300);
    create(&up, "kinds", BY_KIND, Some("_count"));
    built(up.ports[0], "kinds");
    let map = "function (doc) { if (doc.kind) emit(doc.kind) }";
    let body = json!({"map": map, "reduce": "_count"}).to_string();
    let path = format!("{VIEWS}/kinds");
    assert_eq!(
        Wire::open(up.ports[1]).request("PUT", &path, &body).status,
        204
    );
    let count = |port: u16| rows(port, "kinds?group_level=1").len();
    eventually("the new index is asked", Duration::from_secs(30), || {
        for port in &up.ports {
            // Each of three kinds, by the one or the other.
            assert_eq!(count(*port), 3);
        }
        ask(up.ports[2], "kinds/status").json()["takes_over"].is_null()
    });
    eventually("at all nodes", Duration::from_secs(10), || {
        up.ports
            .iter()
            .all(|port| rows(*port, "kinds?key=%22a%22") == [json!({"key": null, "value": 100})])
    });
    let wrong = json!({"map": "function ("}).to_string();
    assert_eq!(
        Wire::open(up.ports[1]).request("PUT", &path, &wrong).status,
        400
    );
}

#[test]
fn a_fresh_answer_has_every_write_that_was_acknowledged_before() {
    let up = Up::with(3, &["--shards=2"]);
    create(&up, "kinds", BY_KIND, Some("_count"));
    built(up.ports[0], "kinds");
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for n in 0..60_u64 {
        let key = format!("doc-{:02}", n % 20);
        let port = up.ports[n as usize % 3];
        if n % 7 == 6 {
            let path = format!("{KEYS}/{key}");
            assert_eq!(Wire::open(port).request("DELETE", &path, "").status, 202);
            expected.remove(&key);
        } else {
            put(port, &key, &json!({"kind": "k", "n": n}));
            expected.insert(key, n);
        }
        let port = up.ports[(n as usize + 1) % 3];
        let told = rows(port, "kinds?reduce=false&stale=false");
        let told: BTreeMap<String, u64> = told
            .iter()
            .map(|row| {
                (
                    row["id"].as_str().unwrap().to_owned(),
                    row["value"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(told, expected, "behind write {n}");
    }
    let count = expected.len();
    assert_eq!(
        rows(up.ports[0], "kinds?stale=false"),
        [json!({"key": null, "value": count})]
    );
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let up = Up::nodes(1);
    let refused = |method: &str, path: &str, body: &str, status: u16, part: &str| {
        let answer = Wire::open(up.ports[0]).request(method, path, body);
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        assert!(
            answer.text().contains(part),
            "{path} {body}: {}",
            answer.text()
        );
    };
    let view = |name: &str, map: &str, reduce: &str| {
        json!({"name": name, "map": map, "reduce": reduce}).to_string()
    };
    refused("POST", VIEWS, "{", 400, "does not describe a view");
    refused(
        "POST",
        VIEWS,
        &view("v", "function () {\n emit(1;\n}", "_count"),
        400,
        "line 2",
    );
    refused(
        "POST",
        VIEWS,
        &view("v", "7", "_count"),
        400,
        "one function",
    );
    refused("POST", VIEWS, &view("v", BY_KIND, "_median"), 400, "_stats");
    refused(
        "POST",
        VIEWS,
        &view("a/b", BY_KIND, "_count"),
        400,
        "view name",
    );
    refused(
        "POST",
        VIEWS,
        &view("v", &"x".repeat(20_000), "_count"),
        400,
        "",
    );
    refused(
        "POST",
        "/v1/keyspaces/none/views",
        &view("v", BY_KIND, "_count"),
        404,
        "no such keyspace",
    );
    for path in ["v", "v/status"] {
        refused(
            "GET",
            &format!("{VIEWS}/{path}"),
            "",
            404,
            "there is no view v",
        );
    }
    refused(
        "DELETE",
        &format!("{VIEWS}/v"),
        "",
        404,
        "there is no view v",
    );
    assert_eq!(
        Wire::open(up.ports[0]).request("GET", VIEWS, "").json(),
        json!([])
    );
    create(&up, "v", BY_KIND, None);
    refused(
        "POST",
        VIEWS,
        &view("v", BY_KIND, "_count"),
        409,
        "there is a view v already",
    );
    refused(
        "GET",
        &format!("{VIEWS}/v?group=true"),
        "",
        400,
        "only what is reduced",
    );
    refused("GET", &format!("{VIEWS}/v?key=abc"), "", 400, "no JSON");
    refused(
        "GET",
        &format!("{VIEWS}/v?start=1"),
        "",
        400,
        "not known here",
    );
    refused(
        "POST",
        &format!("{VIEWS}/v/query"),
        "{\"keys\": 7}",
        400,
        "no JSON array",
    );
    assert_eq!(
        Wire::open(up.ports[0])
            .request("DELETE", &format!("{VIEWS}/v"), "")
            .status,
        204
    );
    refused("GET", &format!("{VIEWS}/v"), "", 404, "there is no view v");
}

/// Runs a command against a cluster: its exit code and output.
fn run(up: &Up, arguments: &[&str]) -> (Option<i32>, String) {
    let server = up.url(0, "");
    let done = dunlin()
        .args(arguments)
        .args(["--server", &server])
        .output()
        .unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn commands_make_ask_verify_and_drop_views() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 30);
    let directory = tempfile::tempdir().unwrap();
    let map = directory.path().join("kinds.js");
    std::fs::write(&map, BY_KIND).unwrap();
    let map = map.to_str().unwrap();
    let done = |arguments: &[&str]| {
        let (code, text) = run(&up, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        text
    };
    let tried = done(&["view", "try", map, "--limit", "3"]);
    assert_eq!(
        tried.lines().next(),
        Some("bad: skipped: line 2: Error: no kind")
    );
    assert_eq!(tried.lines().nth(1), Some("[\"a\",0]\t0\tdoc-000"));
    done(&[
        "view", "create", "default", "kinds", "--map", map, "--reduce", "_count", "--wait",
    ]);
    let groups = done(&[
        "view",
        "query",
        "default",
        "kinds",
        "--group-level",
        "1",
        "--stale",
        "false",
    ]);
    assert_eq!(groups, "[\"a\"]\t10\n[\"b\"]\t10\n[\"c\"]\t10\n");
    let one = done(&[
        "view",
        "query",
        "default",
        "kinds",
        "--key",
        "[\"b\",4]",
        "--no-reduce",
    ]);
    assert_eq!(one, "[\"b\",4]\t4\tdoc-004\n");
    let listed = done(&["view", "list", "default"]);
    assert!(
        listed.contains("kinds") && listed.contains("built"),
        "{listed}"
    );
    let shown = done(&["view", "show", "default", "kinds"]);
    assert!(
        shown.contains("skipped bad: line 2: Error: no kind"),
        "{shown}"
    );
    let verified = done(&["view", "verify", "default", "kinds"]);
    let mut lines: Vec<&str> = verified.lines().collect();
    let replicas = lines.pop();
    let compared = "replicas: 64 partitions compared, 0 differ (0 were being written)";
    assert_eq!((lines.len(), replicas), (6, Some(compared)), "{verified}");
    let is_same = |line: &&str| line.contains(" 0 differences");
    assert!(lines.iter().all(is_same), "{verified}");
    done(&["view", "rebuild", "default", "kinds", "--wait"]);
    let again = done(&["view", "query", "default", "kinds", "--group-level", "1"]);
    assert_eq!(again, groups);
    done(&["view", "drop", "default", "kinds"]);
    let (code, text) = run(&up, &["view", "query", "default", "kinds"]);
    assert_eq!(code, Some(3), "{text}");
    std::fs::write(map, "function (doc) {\n  emit(\n}").unwrap();
    let (code, text) = run(&up, &["view", "create", "default", "kinds", "--map", map]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("kinds.js") && text.contains("line 3"),
        "{text}"
    );
}

#[test]
fn a_view_survives_a_kill_and_a_node_that_is_away() {
    let mut flock = Flock::start(&["--shards=2"]);
    let put = |flock: &Flock, n: u64| {
        let path = format!("{KEYS}/doc-{n:03}");
        let value = json!({"kind": "k", "n": n}).to_string();
        eventually("a write", Duration::from_secs(30), || {
            let port = flock.nodes[0].address().port();
            Wire::open(port).request("PUT", &path, &value).status == 201
        });
    };
    let body = json!({"name": "kinds", "map": BY_KIND, "reduce": "_count"}).to_string();
    let port = flock.nodes[0].address().port();
    assert_eq!(Wire::open(port).request("POST", VIEWS, &body).status, 201);
    (0..50).for_each(|n| put(&flock, n));
    built(port, "kinds");
    flock.kill(1);
    (50..100).for_each(|n| put(&flock, n));
    let count = |flock: &Flock, node: usize, query: &str| -> Option<Value> {
        let port = flock.nodes[node].address().port();
        let answer = ask(port, &format!("kinds{query}"));
        (answer.status == 200).then(|| answer.json()["rows"][0]["value"].clone())
    };
    eventually(
        "an answer without the node",
        Duration::from_secs(30),
        || count(&flock, 0, "?stale=false") == Some(json!(100)),
    );
    flock.up_all();
    eventually(
        "an answer of the node that is back",
        Duration::from_secs(60),
        || count(&flock, 1, "?stale=false") == Some(json!(100)),
    );
    let server = format!("http://{}", flock.nodes[1].address());
    eventually("all are whole", Duration::from_secs(60), || {
        let done = dunlin()
            .args(["view", "verify", "default", "kinds", "--server", &server])
            .output();
        let done = done.unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            !text.contains("is indexed") && !text.contains("missing"),
            "{text}"
        );
        done.status.success()
    });
    // Without a majority nothing can be said of what was written.
    flock.kill(0);
    flock.kill(1);
    let port = flock.nodes[2].address().port();
    eventually(
        "an answer without a majority",
        Duration::from_secs(30),
        || ask(port, "kinds?stale=false").status == 504,
    );
    assert_eq!(count(&flock, 2, "?stale=ok"), Some(json!(100)));
}
