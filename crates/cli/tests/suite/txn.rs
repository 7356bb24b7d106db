//! Transactions over ranges, as who sends them sees them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::child::dunlin;
use crate::harness::curl::{curl, curl_with};
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::up::Up;

pub(super) fn keyspace(up: &Up, name: &str, flags: &[&str]) -> std::process::Output {
    let mut command = dunlin();
    command.args(["keyspace", "create", name, "--server", &up.url(0, "")]);
    command.args(flags).output().unwrap()
}

pub(super) fn bank(up: &Up) {
    let made = keyspace(up, "bank", &["--mode=transactional", "--split-at=3,6"]);
    assert!(made.status.success(), "{made:?}");
}

pub(super) fn txn(url: &str, body: &Value) -> Answer {
    let (url, body) = (format!("{url}/v1/txn"), body.to_string());
    let mut answer = None;
    // Who leads is chosen anew when a machine stands still for too long.
    eventually("a leader is found", Duration::from_secs(60), || {
        let told = curl_with(&["-d", "@-", &url], body.as_bytes());
        let is_there = told.status != 503;
        answer = Some(told);
        is_there
    });
    answer.unwrap()
}

pub(super) fn key(name: &str) -> Value {
    json!({"keyspace": "bank", "key": name})
}

pub(super) fn write(name: &str, value: &str) -> Value {
    json!({"keyspace": "bank", "key": name, "value": value})
}

pub(super) fn ok(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn what_is_written_over_ranges_is_read_at_any_node_at_once() {
    let up = Up::with(3, &["--shards=2"]);
    bank(&up);
    let told = curl(&[&up.url(1, "/v1/keyspaces/bank")]).json();
    let ranges = told["ranges"].as_array().unwrap();
    let starts: Vec<&str> = ranges
        .iter()
        .map(|r| r["start"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(starts, ["", "3", "6"]);
    for n in 0..20 {
        let (node, value) = (n % 3, n.to_string());
        let writes = [write("1", &value), write("5", &value), write("9", &value)];
        let done = ok(&txn(&up.url(node, ""), &json!({"writes": writes})));
        let read = json!({"reads": [key("9"), key("nothing"), key("1"), key("5")]});
        let found = ok(&txn(&up.url((node + 1) % 3, ""), &read));
        for place in [0, 2, 3] {
            assert_eq!(found["reads"][place]["value"], value.as_str());
            assert_eq!(found["reads"][place]["version"], done["version"]);
        }
        assert_eq!(found["reads"][1], key("nothing"));
        // One key by itself sees it too, and is seen.
        let url = up.url((node + 2) % 3, "/v1/keyspaces/bank/keys/5");
        let got = curl(&[&url]);
        assert_eq!(
            (got.text(), got.version()),
            (&*value, done["version"].as_str().unwrap())
        );
    }
    let range = curl(&[&up.url(2, "/v1/keyspaces/bank/keys?start=1&end=9")]);
    assert_eq!(range.text().lines().count(), 2);
    let all = curl(&[&up.url(2, "/v1/keyspaces/bank/keys")]);
    assert_eq!(all.text().lines().count(), 3);
    let gone =
        json!({"writes": [{"keyspace": "bank", "key": "5", "delete": true}, write("1", "x")]});
    ok(&txn(&up.url(0, ""), &gone));
    assert_eq!(curl(&[&up.url(1, "/v1/keyspaces/bank/keys/5")]).status, 404);
    // The range in the middle is empty now.
    let left = curl(&[&up.url(1, "/v1/keyspaces/bank/keys")]);
    assert_eq!(left.text().lines().count(), 2);
    eventually("no intent is left", Duration::from_secs(60), || {
        let status = curl(&[&up.url(0, "/v1/status")]).json();
        let ranges = status["ranges"].as_array().unwrap();
        ranges.len() == 12 && ranges.iter().all(|range| range["intents"] == 0)
    });
}

#[test]
fn checks_hold_or_nothing_happens() {
    let up = Up::nodes(3);
    bank(&up);
    let url = |node| up.url(node, "");
    let first = ok(&txn(
        &url(0),
        &json!({"writes": [write("1", "100"), write("9", "100")]}),
    ));
    let check =
        |name: &str, version: &Value| json!({"keyspace": "bank", "key": name, "version": version});
    let exists =
        |name: &str, exists: bool| json!({"keyspace": "bank", "key": name, "exists": exists});
    let moved = json!({
        "reads": [key("1")],
        "checks": [check("1", &first["version"]), check("9", &first["version"]), exists("5", false)],
        "writes": [write("1", "90"), write("9", "110")],
    });
    let second = ok(&txn(&url(1), &moved));
    // What is read is what was there before.
    assert_eq!(second["reads"][0]["value"], "100");
    assert!(second["version"].as_str() > first["version"].as_str());
    let again = txn(&url(2), &moved);
    assert_eq!(again.status, 412, "{}", again.text());
    let told = again.json();
    // Neither of the two holds, and they are judged in different ranges.
    let check = (&told["check"]["index"], &told["check"]["key"]);
    let either = [(&json!(0), &json!("1")), (&json!(1), &json!("9"))];
    assert!(either.contains(&check), "{told}");
    assert_eq!(told["check"]["version"], second["version"]);
    let absent =
        json!({"checks": [exists("1", true), exists("5", true)], "writes": [write("5", "x")]});
    let refused = txn(&url(2), &absent);
    assert_eq!(
        (refused.status, &refused.json()["check"]["index"]),
        (412, &json!(1))
    );
    let found = ok(&txn(
        &url(0),
        &json!({"reads": [key("1"), key("5"), key("9")]}),
    ));
    let values: Vec<&Value> = (0..3).map(|n| &found["reads"][n]["value"]).collect();
    assert_eq!(values, [&json!("90"), &Value::Null, &json!("110")]);
}

#[test]
fn limits_are_settings_and_are_named_when_they_are_met() {
    let flags = ["--txn-keys=3", "--txn-bytes=1KiB", "--txn-idle=2s"];
    let up = Up::with(1, &flags);
    let made = keyspace(&up, "bank", &["--mode=transactional", "--replicas=1"]);
    assert!(made.status.success(), "{made:?}");
    let url = up.url(0, "");
    let writes = |count: usize, value: &str| {
        let names = ["1", "4", "7", "9"];
        let writes: Vec<Value> = (0..count).map(|n| write(names[n], value)).collect();
        txn(&url, &json!({ "writes": writes }))
    };
    assert_eq!(writes(3, "x").status, 200);
    for (refused, why) in [
        (
            writes(4, "x"),
            "at most 3 keys (setting txn keys), this one 4",
        ),
        (
            writes(1, &"x".repeat(1 << 10)),
            "at most 1024 bytes (setting txn bytes), this one 1025",
        ),
    ] {
        assert_eq!(refused.status, 413, "{}", refused.text());
        assert!(refused.text().contains(why), "{}", refused.text());
    }
    let begun = curl_with(&["-X", "POST", &format!("{url}/v1/txn/begin")], b"");
    let id = begun.json()["id"].as_str().unwrap().to_owned();
    let put = |key: &str| {
        let url = format!("{url}/v1/txn/{id}/keyspaces/bank/keys/{key}");
        curl_with(&["-X", "PUT", "--data-binary", "v", &url], b"")
    };
    for key in ["1", "4", "7"] {
        assert_eq!(put(key).status, 202);
    }
    let refused = put("9");
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert!(refused.text().contains("txn keys"), "{}", refused.text());
    // The one before is written again.
    assert_eq!(put("7").status, 202);
    eventually("it is forgotten", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_secs(3));
        curl(&[&format!("{url}/v1/txn/{id}")]).status == 410
    });
    let mut wrong = dunlin();
    wrong.args(["up", "--nodes=1", "--txn-time=10min", "--data=never-made"]);
    let told = wrong.output().unwrap();
    let line = String::from_utf8_lossy(&told.stderr);
    assert!(
        !told.status.success() && line.contains("txn retention"),
        "{line}"
    );
}

#[test]
fn what_is_no_transaction_is_refused_and_nothing_happens() {
    let up = Up::nodes(3);
    bank(&up);
    let url = up.url(0, "");
    let in_default = json!({"keyspace": "default", "key": "k", "value": "v"});
    let nowhere = json!({"keyspace": "nowhere", "key": "k", "value": "v"});
    let own = json!({"keyspace": "_oracle", "key": "window", "value": "v"});
    let large = "x".repeat(5 << 20);
    for (body, status, why) in [
        (json!({}), 400, "empty"),
        (
            json!({"writes": [write("1", "x"), in_default]}),
            400,
            "default is not transactional",
        ),
        (
            json!({"writes": [write("1", "x"), nowhere]}),
            404,
            "no keyspace nowhere",
        ),
        (json!({"writes": [own]}), 400, "_oracle is not for users"),
        (
            json!({"writes": [write("1", "x")], "more": 1}),
            400,
            "unknown field",
        ),
        (
            json!({"writes": [write("1", "x"), write("1", "y")]}),
            400,
            "written twice",
        ),
        (
            json!({"writes": [write("1", "x"), write("", "y")]}),
            400,
            "the key is empty",
        ),
        (
            json!({"writes": [write("1", "x"), write("2", &large)]}),
            413,
            "at most 4194304 bytes (setting txn bytes)",
        ),
    ] {
        let told = txn(&url, &body);
        assert_eq!(told.status, status, "{}", told.text());
        assert!(told.text().contains(why), "{}", told.text());
    }
    let told = curl_with(&["-d", "@-", &format!("{url}/v1/txn")], b"{\"writes\": [");
    assert_eq!(told.status, 400, "{}", told.text());
    assert_eq!(curl(&[&format!("{url}/v1/txn")]).status, 405);
    assert_eq!(curl(&[&up.url(0, "/v1/keyspaces/bank/keys/1")]).status, 404);
    for path in ["/keys/window", "/keys"] {
        let told = curl(&[&up.url(1, &format!("/v1/keyspaces/_oracle{path}"))]);
        assert_eq!(told.status, 400, "{}", told.text());
    }
    for split in ["--split-at=6,3", "--split-at=3,3", "--split-at="] {
        let made = keyspace(&up, "other", &["--mode=transactional", split]);
        assert!(!made.status.success(), "{split}");
        let told = String::from_utf8_lossy(&made.stderr);
        assert!(told.contains("split_at"), "{told}");
    }
    let made = keyspace(&up, "other", &["--split-at=3"]);
    let told = String::from_utf8_lossy(&made.stderr);
    assert!(told.contains("is for mode transactional"), "{told}");
}

#[test]
fn what_has_a_name_happens_once() {
    let up = Up::nodes(3);
    bank(&up);
    let url = |node| up.url(node, "");
    let first = ok(&txn(
        &url(0),
        &json!({"writes": [write("1", "100"), write("9", "100")]}),
    ));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_ms = now.unwrap().as_millis() as u64;
    let moved = json!({
        "id": format!("{now_ms}-first"),
        "checks": [{"keyspace": "bank", "key": "1", "version": first["version"]}],
        "writes": [write("1", "90"), write("9", "110")],
    });
    let second = ok(&txn(&url(1), &moved));
    // Its check would not hold any more.
    let again = ok(&txn(&url(2), &moved));
    assert_eq!(
        again,
        json!({"version": second["version"], "repeated": true})
    );
    let mut other = moved.clone();
    other["writes"][0]["value"] = "80".into();
    let taken = txn(&url(0), &other);
    assert_eq!(taken.status, 422, "{}", taken.text());
    let found = ok(&txn(&url(0), &json!({"reads": [key("1"), key("9")]})));
    assert_eq!(found["reads"][0]["value"], "90");
    assert_eq!(found["reads"][1]["version"], second["version"]);
    for ms in [now_ms - 3_600_000, now_ms + 3_600_000] {
        other["id"] = format!("{ms}-x").into();
        assert_eq!(txn(&url(0), &other).status, 400);
    }
    // The answer is the outcome for good, however the keys change.
    let mut poor = moved.clone();
    poor["id"] = format!("{now_ms}-second").into();
    assert_eq!(txn(&url(1), &poor).status, 412);
    ok(&txn(&url(2), &json!({"writes": [write("1", "0")]})));
    let again = txn(&url(0), &poor);
    assert_eq!(again.status, 412, "{}", again.text());
    assert_eq!(again.json()["check"]["version"], second["version"]);
    poor["checks"][0]["version"] = second["version"].clone();
    assert_eq!(txn(&url(2), &poor).status, 422);
}

pub(super) struct Open<'a> {
    up: &'a Up,
    pub id: String,
}

impl Open<'_> {
    pub fn begin(up: &Up, node: usize) -> Open<'_> {
        let begun = curl(&["-X", "POST", &up.url(node, "/v1/txn/begin")]);
        assert_eq!(begun.status, 201, "{}", begun.text());
        let id = begun.json()["id"].as_str().unwrap().to_owned();
        Open { up, id }
    }

    pub fn url(&self, node: usize, path: &str) -> String {
        self.up.url(node, &format!("/v1/txn/{}{path}", self.id))
    }

    fn get(&self, node: usize, key: &str) -> Answer {
        curl(&[&self.url(node, &format!("/keyspaces/bank/keys/{key}"))])
    }

    pub fn put(&self, node: usize, key: &str, value: &str) -> Value {
        let url = self.url(node, &format!("/keyspaces/bank/keys/{key}"));
        let put = curl_with(
            &["-X", "PUT", "--data-binary", "@-", &url],
            value.as_bytes(),
        );
        assert_eq!(put.status, 202, "{}", put.text());
        put.json()
    }

    fn delete(&self, node: usize, key: &str) {
        let url = self.url(node, &format!("/keyspaces/bank/keys/{key}"));
        assert_eq!(curl(&["-X", "DELETE", &url]).status, 202);
    }

    fn keys(&self, node: usize, query: &str) -> String {
        let url = self.url(node, &format!("/keyspaces/bank/keys?{query}"));
        let told = curl(&[&url]);
        assert_eq!(told.status, 200, "{}", told.text());
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            format!(
                "{}={}",
                line["key"].as_str().unwrap(),
                line["value"].as_str().unwrap()
            )
        };
        told.text().lines().map(line).collect::<Vec<_>>().join(" ")
    }

    pub fn end(&self, node: usize, how: &str) -> Answer {
        curl(&["-X", "POST", &self.url(node, &format!("/{how}"))])
    }
}

#[test]
fn a_transaction_over_several_requests_sees_itself_and_one_moment() {
    let up = Up::with(3, &["--shards=2"]);
    bank(&up);
    let writes = [
        write("1", "a"),
        write("4", "b"),
        write("7", "c"),
        write("9", "d"),
    ];
    ok(&txn(&up.url(0, ""), &json!({"writes": writes})));
    let open = Open::begin(&up, 0);
    // Somebody else, later.
    ok(&txn(
        &up.url(1, ""),
        &json!({"writes": [write("9", "later"), write("5", "later")]}),
    ));
    assert_eq!(open.get(1, "9").text(), "d");
    assert_eq!(open.get(2, "5").status, 404);
    open.put(1, "5", "mine");
    open.put(2, "0", "first");
    open.delete(0, "7");
    assert_eq!(open.get(2, "5").text(), "mine");
    assert_eq!(open.get(1, "7").status, 404);
    assert_eq!(open.keys(1, ""), "0=first 1=a 4=b 5=mine 9=d");
    assert_eq!(open.keys(2, "start=1&end=9&limit=2"), "1=a 4=b");
    assert_eq!(open.keys(2, "prefix=5"), "5=mine");
    // Nobody sees it before it commits; and it cannot, for 5 was written later than it began.
    assert_eq!(curl(&[&up.url(1, "/v1/keyspaces/bank/keys/0")]).status, 404);
    let refused = open.end(1, "commit");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(open.get(1, "9").status, 410);
    assert_eq!(open.end(2, "commit").status, 410);

    let open = Open::begin(&up, 2);
    let look = curl(&[&open.url(0, "")]);
    assert_eq!(look.json()["state"], "open");
    open.put(0, "5", "mine");
    open.delete(1, "7");
    open.put(2, "9", "x");
    let done = open.end(1, "commit");
    assert_eq!(done.status, 200, "{}", done.text());
    let version = done.json()["version"].clone();
    let got = curl(&[&up.url(1, "/v1/keyspaces/bank/keys/5")]);
    assert_eq!(
        (got.text(), got.version()),
        ("mine", version.as_str().unwrap())
    );
    assert_eq!(curl(&[&up.url(0, "/v1/keyspaces/bank/keys/7")]).status, 404);
    // It has ended; what became of it is found by the key that it wrote first.
    assert_eq!(open.end(0, "commit").status, 410);
    let again = open.end(0, "commit?first=bank/5");
    assert_eq!((again.status, &again.json()["version"]), (200, &version));
    let look = curl(&[&open.url(1, "?first=bank/5")]);
    assert_eq!(look.json()["state"], "committed");

    let open = Open::begin(&up, 1);
    open.put(0, "5", "never");
    assert_eq!(open.end(2, "abort").json()["state"], "aborted");
    assert_eq!(open.end(2, "commit?first=bank/5").status, 410);
    assert_eq!(
        curl(&[&up.url(2, "/v1/keyspaces/bank/keys/5")]).text(),
        "mine"
    );
    assert_eq!(curl(&[&up.url(2, "/v1/txn/nonsense")]).status, 404);
    let wrong = open.url(0, "/keyspaces/default/keys/k");
    assert_eq!(curl(&[&wrong]).status, 400);
    assert_eq!(
        curl(&[&open.url(0, "/keyspaces/bank/keys?limit=0")]).status,
        400
    );
}

#[test]
fn a_script_is_run_as_transactions() {
    let up = Up::nodes(3);
    bank(&up);
    let run = |script: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), script).unwrap();
        let mut command = dunlin();
        command.args(["txn", "--server", &up.url(1, "")]);
        let output = command.arg(file.path()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let done =
        run("put bank 1 100\nput bank 9 some more\ncommit\nget bank 9\ndelete bank 9\ncommit\n");
    assert_eq!(done, (Some(0), "some more\n".to_owned(), String::new()));
    let (code, _, told) = run("put bank 5 x\ncheck bank 1 99\ncommit\n");
    assert_eq!(code, Some(1));
    assert!(
        told.contains("line 2") && told.contains("its value is \"100\""),
        "{told}"
    );
    // Nothing of it happened, nor of what has no commit.
    let (code, _, told) = run("put bank 5 x\n");
    assert_eq!(code, Some(2), "{told}");
    let keys = curl(&[&up.url(0, "/v1/keyspaces/bank/keys")]);
    assert_eq!(keys.text().lines().count(), 1, "{}", keys.text());
    let (code, _, told) = run("put default k v\ncommit\n");
    assert_eq!(code, Some(1));
    assert!(told.contains("default is not transactional"), "{told}");
}

#[test]
fn a_node_that_dies_takes_nothing_with_it() {
    let mut flock = Flock::start(&[]);
    let body = json!({"name": "bank", "mode": "transactional", "split_at": ["3", "6"]}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let mut last = 0;
    for victim in 0..3 {
        flock.kill(victim);
        eventually("transactions go on", Duration::from_secs(30), || {
            last += 1;
            let value = last.to_string();
            let writes = [write("1", &value), write("5", &value), write("9", &value)];
            let body = json!({"writes": writes}).to_string();
            let node = &flock.nodes[(victim + 1) % 3];
            node.request("POST", "/v1/txn", body.as_bytes()).status == 200
        });
        flock.up(victim);
        let read = json!({"reads": [key("1"), key("5"), key("9")]});
        let url = format!("http://{}", flock.nodes[(victim + 2) % 3].address());
        let found = ok(&txn(&url, &read));
        let values: Vec<&Value> = (0..3).map(|n| &found["reads"][n]["value"]).collect();
        assert_eq!(values, vec![&json!(last.to_string()); 3]);
    }
}
