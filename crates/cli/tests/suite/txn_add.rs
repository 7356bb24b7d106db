//! Numbers are added to values, each once, whoever else does so.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};

use super::txn::{bank, ok, txn, write};
use crate::harness::child::dunlin;
use crate::harness::curl::curl;
use crate::harness::up::Up;

const CLIENTS: u64 = 8;
const EACH: u64 = 10;

fn add(key: &str, number: i64) -> Value {
    json!({"keyspace": "bank", "key": key, "add": number})
}

/// Exit code, standard output and errors.
fn run(up: &Up, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = dunlin();
    command.args(["add", "--server", &up.url(2, "")]);
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_counter_takes_a_line() {
    let up = Up::nodes(3);
    bank(&up);
    let prints = |arguments: &[&str], sum: &str| {
        let done = run(&up, arguments);
        assert_eq!(done, (Some(0), format!("{sum}\n"), String::new()));
    };
    prints(&["--keyspace", "bank", "hits", "1"], "1");
    prints(&["--keyspace", "bank", "hits", "41"], "42");
    prints(&["-k", "bank", "hits", "-50"], "-8");
    let (code, json, _) = run(&up, &["-k", "bank", "hits", "8", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, json["value"].as_str()), (Some(0), Some("0")));
    let value = curl(&[&up.url(0, "/v1/keyspaces/bank/keys/hits")]);
    assert_eq!(value.text(), "0");

    ok(&txn(&up.url(1, ""), &json_writes(&[write("name", "ann")])));
    let cases: [(&[&str], i32, &str); 3] = [
        (&["-k", "bank", "name", "1"], 1, "no decimal number"),
        (&["-k", "default", "hits", "1"], 1, "not transactional"),
        (&["-k", "nowhere", "hits", "1"], 3, "nowhere"),
    ];
    for (arguments, expected, why) in cases {
        let (code, out, answer) = run(&up, arguments);
        assert_eq!((code, &*out), (Some(expected), ""), "{answer}");
        assert!(answer.contains(why), "{answer}");
    }
    let (code, _, answer) = run(&up, &["-k", "bank", "hits", "many"]);
    assert_eq!(code, Some(2), "{answer}");
}

fn json_writes(writes: &[Value]) -> Value {
    json!({ "writes": writes })
}

#[test]
fn all_that_add_to_two_keys_in_two_ranges_have_sums_of_their_own() {
    let up = Up::nodes(3);
    bank(&up);
    let body = json_writes(&[add("1", 1), add("9", -2)]);
    let sums = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let url = up.url(client as usize % 3, "");
                let body = &body;
                scope.spawn(move || {
                    let sum = |_| {
                        let added = ok(&txn(&url, body))["added"].take();
                        let value = |n: usize| -> i64 {
                            added[n]["value"].as_str().unwrap().parse().unwrap()
                        };
                        assert_eq!(value(1), -2 * value(0));
                        value(0)
                    };
                    (0..EACH).map(sum).collect::<Vec<i64>>()
                })
            })
            .collect();
        let sums = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        sums.collect::<BTreeSet<i64>>()
    });
    assert_eq!(sums, (1..=(CLIENTS * EACH) as i64).collect());
}

#[test]
fn what_is_sent_again_is_added_once_and_a_wrong_one_changes_nothing() {
    let up = Up::nodes(3);
    bank(&up);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_ms = now.unwrap().as_millis();
    let body = json!({"id": format!("{now_ms}-one"), "writes": [add("1", 5)]});
    assert_eq!(ok(&txn(&up.url(0, ""), &body))["added"][0]["value"], "5");
    assert_eq!(ok(&txn(&up.url(1, ""), &body))["repeated"], true);
    // Also when there is no number any more.
    ok(&txn(&up.url(1, ""), &json_writes(&[write("1", "none")])));
    assert_eq!(ok(&txn(&up.url(2, ""), &body))["repeated"], true);
    ok(&txn(&up.url(1, ""), &json_writes(&[write("1", "5")])));
    // It is read and checked as of the same moment.
    let both = json!({
        "reads": [{"keyspace": "bank", "key": "1"}],
        "checks": [{"keyspace": "bank", "key": "1", "exists": true}],
        "writes": [add("1", 2), write("9", "x")],
    });
    let answer = ok(&txn(&up.url(2, ""), &both));
    assert_eq!(answer["reads"][0]["value"], "5");
    assert_eq!(
        answer["added"],
        json!([{"keyspace": "bank", "key": "1", "value": "7"}])
    );
    for (writes, status) in [
        (json!([add("9", 1), write("4", "y")]), 422),
        (json!([add("1", i64::MAX), write("4", "y")]), 422),
        (
            json!([{"keyspace": "bank", "key": "1", "add": 1, "value": "1"}]),
            400,
        ),
        (
            json!([{"keyspace": "bank", "key": "1", "add": 1, "delete": true}]),
            400,
        ),
        (json!([{"keyspace": "bank", "key": "1", "add": 1.5}]), 400),
    ] {
        let answer = txn(&up.url(0, ""), &json!({ "writes": writes }));
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    assert_eq!(curl(&[&up.url(1, "/v1/keyspaces/bank/keys/4")]).status, 404);
}
