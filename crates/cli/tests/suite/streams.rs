//! Change streams under clients that are slow, hang or come back with an old token.

use serde_json::{Value, json};

use crate::harness::curl::curl;
use crate::harness::duplicate;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEYS: &str = "/v1/keyspaces/default/keys";
const CHANGES: &str = "/v1/keyspaces/default/changes";
const CURSORS: &str = "/v1/keyspaces/default/cursors";

fn put(up: &Up, key: &str, value: impl AsRef<[u8]>) {
    let path = format!("{KEYS}/{key}");
    let answer = Wire::open(up.ports[0]).request("PUT", &path, value.as_ref());
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The token that a stream to the end of all ends with.
fn token(up: &Up, query: &str) -> String {
    let answer = curl(&[&up.url(0, &format!("{CHANGES}?from=beginning&until=end&{query}"))]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let last = lines(answer.text()).pop().unwrap();
    last["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_of_some_keys_is_refused_for_others() {
    let up = Up::nodes(1);
    put(&up, "pa", "1");
    put(&up, "qa", "1");
    let token = token(&up, "prefix=p");
    put(&up, "pb", "2");
    put(&up, "qb", "2");
    let of = |prefix: &str| {
        let path = format!("{CHANGES}?from={token}&until=end{prefix}");
        curl(&[&up.url(0, &path)])
    };
    for other in ["", "&prefix=q", "&prefix="] {
        let refused = of(other);
        assert_eq!(refused.status, 400, "{other}: {}", refused.text());
        assert!(
            refused.text().contains("of keys that begin with"),
            "{}",
            refused.text()
        );
    }
    // Fewer keys are no loss.
    for (same, expected) in [("&prefix=p", 1), ("&prefix=pb", 1), ("&prefix=pc", 0)] {
        let answer = of(same);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let lines = lines(answer.text());
        let changes = lines.iter().filter(|line| line["event"] == "change");
        assert_eq!(changes.count(), expected, "{same}");
    }
}

#[test]
fn no_proxy_gathers_or_keeps_a_stream() {
    let up = Up::nodes(1);
    let answer = curl(&[&up.url(0, &format!("{CHANGES}?from=now&wait=0"))]);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
}

#[test]
fn a_cursor_is_kept_by_signs_of_its_consumer_and_one_made_again_is_another() {
    let up = Up::nodes(1);
    let cursor = format!("{CURSORS}/c");
    let ask = |method: &str, path: &str, body: Value| {
        let body = body.to_string();
        Wire::open(up.ports[0]).request(method, &format!("{cursor}{path}"), body)
    };
    assert_eq!(ask("PUT", "", json!({})).status, 201);
    let first = curl(&[&up.url(0, &format!("{CHANGES}?cursor=c&wait=0"))]);
    let first = lines(first.text())[0]["generation"].clone();
    let renewed = ask("POST", "/renew", json!({ "generation": first }));
    assert_eq!(renewed.status, 200, "{}", renewed.text());
    let renewed: Value = serde_json::from_str(renewed.text()).unwrap();
    assert!(
        renewed["lease_left_ms"].as_u64() > Some(10_000),
        "{renewed}"
    );
    let held = curl(&[&up.url(0, &format!("{CHANGES}?cursor=c&wait=0"))]);
    assert_eq!(held.status, 409, "{}", held.text());
    // Its consumer itself goes on, and is the only one that may say so.
    let again = format!("{CHANGES}?cursor=c&wait=0&generation={first}");
    let again = curl(&[&up.url(0, &again)]);
    let second = lines(again.text())[0]["generation"].clone();
    assert!(second.as_u64() > first.as_u64());
    assert_eq!(
        ask("POST", "/renew", json!({ "generation": first })).status,
        409
    );
    assert_eq!(ask("POST", "/renew", json!({})).status, 400);

    put(&up, "a", "1");
    let old = renewed["token"].clone();
    assert_eq!(ask("DELETE", "", json!({})).status, 204);
    let made = ask("PUT", "", json!({"from": "now"}));
    assert_eq!(made.status, 201, "{}", made.text());
    let stale = ask(
        "POST",
        "/commit",
        json!({"token": old, "generation": second}),
    );
    assert_eq!(stale.status, 409, "{}", stale.text());
}

#[test]
fn a_large_value_costs_no_memory_for_each_client_that_does_not_read() {
    const STREAMS: usize = 60;
    const VALUE_BYTES: usize = 8 << 20;
    let up = Up::nodes(1);
    put(&up, "first", "1");
    let open = |accept: &str| {
        let mut wire = Wire::open(up.ports[0]);
        let path = format!("{CHANGES}?from=now");
        wire.try_send("GET", &path, accept, b"").unwrap();
        assert_eq!(wire.head().unwrap().status, 200);
        assert!(wire.chunk().unwrap().is_some());
        wire
    };
    let unread: Vec<Wire> = (0..STREAMS).map(|_| open("")).collect();
    let mut read = open("");
    let before = up.process.rss_kib();
    // Six bytes of JSON each.
    let value = vec![1_u8; VALUE_BYTES];
    put(&up, "large", &value);
    let expected = "\\u0001".repeat(VALUE_BYTES);
    let mut text = String::new();
    while !text.ends_with("}\n") {
        let chunk = read.chunk().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains(&expected));
    let more = up.process.rss_kib().saturating_sub(before) >> 10;
    // Sixty lines take 2,880 MiB.
    assert!(more < 300, "{more} MiB more");
    // Writers go on.
    for number in 0..10 {
        put(&up, &format!("small-{number}"), "v");
    }
    drop(unread);
}

#[test]
fn a_token_from_before_a_directory_was_put_back_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let (data, kept) = (directory.path().join("data"), directory.path().join("kept"));
    let mut up = Up::on(&data, 1);
    put(&up, "a", "1");
    let early = token(&up, "");
    assert_eq!(up.process.stop(), Some(0));
    duplicate(&data, &kept);
    let mut up = Up::on(&data, 1);
    for number in 0..20 {
        put(&up, &format!("b-{number}"), "2");
    }
    let late = token(&up, "");
    assert_eq!(up.process.stop(), Some(0));
    std::fs::remove_dir_all(&data).unwrap();
    duplicate(&kept, &data);

    let up = Up::on(&data, 1);
    let of = |token: &str| {
        let path = format!("{CHANGES}?from={token}&until=end");
        curl(&[&up.url(0, &path)])
    };
    let gone = of(&late);
    assert_eq!(gone.status, 410, "{}", gone.text());
    assert!(
        gone.text().contains("put back to an earlier"),
        "{}",
        gone.text()
    );
    assert_eq!(of(&early).status, 200);
    put(&up, "c", "3");
    assert!(of(&early).text().contains("\"key\":\"c\""));
}
