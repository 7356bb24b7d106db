//! Answers of transactions hold for good, and the memory of transactions is bounded and counted.

use std::time::Duration;

use serde_json::{Value, json};

use super::txn::{Open, bank, key, keyspace, ok, txn, write};
use crate::harness::answer::Answer;
use crate::harness::asking::{ADMIN, add, ask, close};
use crate::harness::curl::{curl, curl_with, put};
use crate::harness::eventually;
use crate::harness::up::Up;

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_millis() as u64
}

fn status_of(up: &Up, node: usize, key: &str) -> u16 {
    curl(&[&up.url(node, &format!("/v1/keyspaces/bank/keys/{key}"))]).status
}

#[test]
fn a_refusal_under_an_id_is_its_outcome_when_the_check_comes_true() {
    let up = Up::nodes(3);
    bank(&up);
    let mut body = json!({
        "id": format!("{}-held-back", now_ms()),
        "checks": [{"keyspace": "bank", "key": "4flag", "exists": true}],
        "writes": [write("4done", "x"), write("9done", "x")],
    });
    assert_eq!(txn(&up.url(1, ""), &body).status, 412);
    assert_eq!(txn(&up.url(2, ""), &body).status, 412);
    ok(&txn(
        &up.url(1, ""),
        &json!({"writes": [write("4flag", "x")]}),
    ));
    let late = txn(&up.url(0, ""), &body);
    assert_eq!(late.status, 412, "{}", late.text());
    assert_eq!(late.json()["check"]["index"], 0);
    assert_eq!(
        (status_of(&up, 0, "4done"), status_of(&up, 1, "9done")),
        (404, 404)
    );
    // Another try needs an id of its own.
    body["id"] = format!("{}-again", now_ms()).into();
    ok(&txn(&up.url(0, ""), &body));
    assert_eq!(status_of(&up, 2, "9done"), 200);
}

#[test]
fn an_id_belongs_to_one_body_in_all_ranges_of_a_keyspace() {
    let up = Up::nodes(3);
    bank(&up);
    // The range that keeps an id follows from the id: this reaches all of them.
    for number in 0..12 {
        let id = format!("{}-{number}", now_ms());
        let body = |key: &str, value: &str| json!({"id": id, "writes": [write(key, value)]});
        let (one, other) = (format!("1-{number}"), format!("9-{number}"));
        ok(&txn(&up.url(0, ""), &body(&one, "A")));
        let taken = txn(&up.url(1, ""), &body(&other, "B"));
        assert_eq!(taken.status, 422, "{}", taken.text());
        assert_eq!(status_of(&up, 2, &other), 404);
        assert_eq!(txn(&up.url(2, ""), &body(&one, "C")).status, 422);
        assert_eq!(ok(&txn(&up.url(1, ""), &body(&one, "A")))["repeated"], true);
    }
}

#[test]
fn an_outcome_is_found_by_the_key_written_first_and_by_who_has_the_whole_id() {
    let up = Up::with(3, &["--shards=2"]);
    bank(&up);
    let open = Open::begin(&up, 0);
    let first = json!({"first": "bank/9", "writes": 1});
    assert_eq!(open.put(1, "9", "x"), first);
    assert_eq!(
        open.put(2, "1", "x"),
        json!({"first": "bank/9", "writes": 2})
    );
    assert_eq!(curl(&[&open.url(2, "")]).json()["first"], "bank/9");
    let committed = open.end(1, "commit");
    assert_eq!(committed.status, 200, "{}", committed.text());
    let look = curl(&[&open.url(1, "?first=bank/9")]);
    assert_eq!(look.json()["state"], "committed");
    assert_eq!(look.json()["version"], committed.json()["version"]);
    // A key in another range reveals nothing.
    let look = curl(&[&open.url(2, "?first=bank/5")]);
    assert_eq!(look.status, 410, "{}", look.text());
    assert!(look.text().contains("known by this key"), "{}", look.text());

    // Without the secret nothing is found, and nothing is ended.
    let open = Open::begin(&up, 0);
    open.put(0, "5", "mine");
    let (head, _) = open.id.rsplit_once('-').unwrap();
    let guess = |path: &str| up.url(1, &format!("/v1/txn/{head}-00000000{path}"));
    assert_eq!(curl(&[&guess("?first=bank/5")]).status, 410);
    assert_eq!(
        curl(&["-X", "POST", &guess("/commit?first=bank/5")]).status,
        410
    );
    assert_eq!(curl(&["-X", "POST", &guess("/abort")]).status, 410);
    assert_eq!(open.end(2, "commit").status, 200);

    // GET ends nothing; POST commit ends a lost transaction.
    let open = Open::begin(&up, 1);
    open.put(0, "5", "never");
    assert_eq!(open.end(0, "abort").json()["state"], "aborted");
    let look = curl(&[&open.url(2, "?first=bank/5")]);
    assert_eq!(look.status, 410, "{}", look.text());
    let ended = open.end(1, "commit?first=bank/5");
    assert_eq!(ended.status, 410);
    assert!(ended.text().contains("is aborted"), "{}", ended.text());
    let look = curl(&[&open.url(2, "?first=bank/5")]);
    assert_eq!(look.json()["state"], "aborted", "{}", look.text());

    let of_nobody = format!("/v1/txn/fff-0-{:016x}-{:016x}", 1, 1);
    assert_eq!(curl(&[&up.url(0, &of_nobody)]).status, 404);
    let of_the_future = format!("/v1/txn/1-0-{:016x}-{:016x}?first=bank/5", u64::MAX / 2, 1);
    assert_eq!(curl(&[&up.url(0, &of_the_future)]).status, 404);
    let begin = up.url(0, "/v1/txn/begin");
    let with_body = curl_with(&["-d", "@-", &begin], b"{\"writes\": []}");
    assert_eq!(with_body.status, 400, "{}", with_body.text());
}

#[test]
fn deadlines_and_floors_hold_for_transactions() {
    let up = Up::nodes(3);
    bank(&up);
    let url = up.url(1, "/v1/txn");
    let body = json!({"writes": [write("1", "x"), write("9", "x")]}).to_string();
    let with = |header: &str| curl_with(&["-H", header, "-d", "@-", &url], body.as_bytes());
    let late = with(&format!("Dunlin-Deadline: {}", now_ms() - 60_000));
    assert_eq!(late.status, 408, "{}", late.text());
    assert_eq!((status_of(&up, 0, "1"), status_of(&up, 1, "9")), (404, 404));
    assert_eq!(with("Dunlin-Deadline: soon").status, 400);
    let after_ms = now_ms() + 200;
    let later = ok(&with(&format!("Dunlin-After: {after_ms}")));
    let version_ms = |version: &Value| u64::from_str_radix(&version.as_str().unwrap()[..12], 16);
    assert!(version_ms(&later["version"]).unwrap() > after_ms, "{later}");
    ok(&with(&format!("Dunlin-Deadline: {}", now_ms() + 20_000)));

    let open = Open::begin(&up, 0);
    open.put(1, "5", "x");
    let header = format!("Dunlin-Deadline: {}", now_ms() - 60_000);
    let late = curl(&["-X", "POST", "-H", &header, &open.url(2, "/commit")]);
    assert_eq!(late.status, 408, "{}", late.text());
    // It is still open.
    assert_eq!(open.end(2, "commit").status, 200);
}

fn counted_bytes(up: &Up) -> f64 {
    let metrics = curl(&[&up.url(0, "/metrics")]);
    let line = (metrics.text().lines())
        .find_map(|line| line.strip_prefix("dunlin_request_memory_bytes "))
        .map(|value| value.parse().unwrap());
    line.unwrap()
}

#[test]
fn reads_are_bounded_and_each_key_is_returned_once_and_writes_are_counted() {
    let up = Up::with(1, &["--txn-read-bytes=2MiB"]);
    let made = keyspace(&up, "bank", &["--mode=transactional", "--replicas=1"]);
    assert!(made.status.success(), "{made:?}");
    let url = up.url(0, "");
    let big = "\u{1}".repeat(700_000);
    for name in ["1", "2", "3"] {
        let put = put(
            &format!("{url}/v1/keyspaces/bank/keys/{name}"),
            big.as_bytes(),
        );
        assert_eq!(put.status, 201, "{}", put.text());
    }
    let reads: Vec<Value> = (0..900).map(|_| key("1")).collect();
    let once = ok(&txn(&url, &json!({ "reads": reads })));
    assert_eq!(once["reads"].as_array().unwrap().len(), 1);
    let two = ok(&txn(
        &url,
        &json!({"reads": [key("2"), key("none"), key("1")]}),
    ));
    let values: Vec<&Value> = (0..3).map(|n| &two["reads"][n]["value"]).collect();
    assert_eq!(values, [&json!(big), &Value::Null, &json!(big)]);
    let three = txn(&url, &json!({"reads": [key("1"), key("2"), key("3")]}));
    assert_eq!(three.status, 413, "{}", three.text());
    assert!(three.text().contains("txn read bytes"), "{}", three.text());

    let open = Open::begin(&up, 0);
    let value = "x".repeat(3_000_000);
    open.put(0, "5", &value);
    let counted = counted_bytes(&up);
    assert!(counted >= 3_000_000.0, "{counted}");
    open.put(0, "5", "short");
    eventually("it is let go of", Duration::from_secs(30), || {
        counted_bytes(&up) < 3_000_000.0
    });
    open.put(0, "5", &value);
    assert_eq!(open.end(0, "abort").status, 200);
    eventually("it is let go of", Duration::from_secs(30), || {
        counted_bytes(&up) < 3_000_000.0
    });
}

#[test]
fn rights_are_checked_again_where_a_transaction_takes_effect() {
    let up = Up::nodes(1);
    let made = keyspace(&up, "bank", &["--mode=transactional", "--replicas=1"]);
    assert!(made.status.success(), "{made:?}");
    let server = up.url(0, "");
    close(&server);
    let (reader, writer) = ("rita:correct horse", "will:correct horse");
    add(ADMIN, &server, reader, json!({"bank": "read"}), false);
    add(ADMIN, &server, writer, json!({"bank": "write"}), false);
    let post = |user: &str, path: &str| ask(user, "POST", &format!("{server}/v1/txn/{path}"), b"");
    let refused = post(reader, "begin");
    assert_eq!(refused.status, 403, "{}", refused.text());
    let begin = || {
        let started = post(writer, "begin");
        assert_eq!(started.status, 201, "{}", started.text());
        let id = started.json()["id"].as_str().unwrap().to_owned();
        let path = format!("{server}/v1/txn/{id}/keyspaces/bank/keys/k");
        assert_eq!(ask(writer, "PUT", &path, b"v").status, 202);
        id
    };
    // A reader ends nothing, even by the whole id.
    let id = begin();
    let committed = |answer: &Answer| assert_eq!(answer.status, 403, "{}", answer.text());
    committed(&post(reader, &format!("{id}/commit")));
    committed(&post(reader, &format!("{id}/commit?first=bank/k")));
    // Nor does he make writers wait.
    let other = format!("{server}/v1/txn/{id}/keyspaces/bank/keys/other");
    assert_eq!(ask(reader, "GET", &other, b"").status, 404);
    committed(&ask(reader, "GET", &format!("{other}?lock=true"), b""));
    assert_eq!(post(writer, &format!("{id}/commit")).status, 200);
    // A user whose role was taken meanwhile.
    let id = begin();
    let roles = json!({"roles": {"bank": "read"}}).to_string();
    let url = format!("{server}/v1/users/will");
    let changed = ask(ADMIN, "PUT", &url, roles.as_bytes());
    assert!(changed.status < 300, "{}", changed.text());
    committed(&post(writer, &format!("{id}/commit")));
    let own = ask(
        ADMIN,
        "PUT",
        &format!("{server}/v1/keyspaces/_system/keys/k"),
        b"v",
    );
    assert_eq!(own.status, 400, "{}", own.text());
    assert!(own.text().contains("not for users"), "{}", own.text());
}

#[test]
fn keys_of_a_keyspace_are_served_when_another_of_their_transactions_is_dropped_and_purged() {
    let up = Up::with(3, &["--drop-delay=1s"]);
    bank(&up);
    let made = keyspace(&up, "other", &["--mode=transactional"]);
    assert!(made.status.success(), "{made:?}");
    let both = |name: &str| {
        let other = json!({"keyspace": "other", "key": name, "value": "x"});
        json!({"writes": [other, write(name, "x")]})
    };
    let url = up.url(0, "/v1/txn");
    let children: Vec<_> = (0..8)
        .map(|thread| {
            let url = url.clone();
            let bodies: Vec<String> = (0..10)
                .map(|n| both(&format!("{thread}-{n}")).to_string())
                .collect();
            std::thread::spawn(move || {
                let send = |body: &String| curl_with(&["-d", "@-", &url], body.as_bytes()).status;
                bodies.iter().map(send).collect::<Vec<u16>>()
            })
        })
        .collect();
    let dropped = curl(&["-X", "DELETE", &up.url(1, "/v1/keyspaces/other")]);
    assert_eq!(dropped.status, 204, "{}", dropped.text());
    for (thread, child) in children.into_iter().enumerate() {
        for (n, status) in child.join().unwrap().into_iter().enumerate() {
            // After 200 the key is there, after 404 it is not.
            let name = format!("{thread}-{n}");
            eventually("the key answers", Duration::from_secs(30), || {
                let found = status_of(&up, 2, &name);
                match status {
                    200 => found == 200,
                    404 => found == 404,
                    _ => matches!(found, 200 | 404),
                }
            });
        }
    }
    eventually("its data is purged", Duration::from_secs(60), || {
        let all = curl(&[&up.url(0, "/v1/dropped")]);
        !all.text().contains("other") || all.text().contains("\"purged\":true")
    });
    ok(&txn(
        &up.url(1, ""),
        &json!({"writes": [write("0-0", "y")]}),
    ));
}
