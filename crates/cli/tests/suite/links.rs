//! Links between clusters, as who makes them sees them.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::asking::{ADMIN, add, ask, close};
use crate::harness::child::command;
use crate::harness::curl::{curl, curl_with, delete, get, put};
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::up::Up;

const KEYS: &str = "/v1/keyspaces/default/keys";
const ARRIVES: Duration = Duration::from_secs(60);

/// A command; its exit code, and its output and errors together.
fn run(server: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let server = format!("--server={server}");
    let out = command().args(arguments).arg(server).output().unwrap();
    let text = [&out.stdout[..], &out.stderr].concat();
    (out.status.code(), String::from_utf8(text).unwrap())
}

fn succeeds(server: &str, arguments: &[&str]) -> String {
    let (code, text) = run(server, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

/// One line: the error.
fn refused(server: &str, arguments: &[&str]) -> String {
    let (code, text) = run(server, arguments);
    assert_ne!(code, Some(0), "{arguments:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text
}

/// Keys, values, versions and expiries of a keyspace, in order.
fn scan(server: &str, keyspace: &str) -> String {
    succeeds(server, &["scan", "--json", "--keyspace", keyspace])
}

fn equal(a: &str, b: &str, keyspaces: (&str, &str)) {
    eventually("both clusters hold the same", ARRIVES, || {
        scan(a, keyspaces.0) == scan(b, keyspaces.1)
    });
}

fn link(server: &str, name: &str) -> Value {
    let line = succeeds(server, &["link", "show", name, "--json"]);
    serde_json::from_str(&line).unwrap()
}

/// The present time as a version.
fn version_now() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{:012x}0000", now.unwrap().as_millis())
}

/// Keys and values from `from` to before `to`.
fn fill(url: &str, from: u32, to: u32) {
    for key in from..to {
        let answer = put(&format!("{url}/{key:04}"), format!("v{key}").as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

#[test]
fn records_and_changes_of_a_cluster_arrive_in_another() {
    let (a, b) = (Up::nodes(2), Up::nodes(2));
    let (at_a, at_b) = (a.url(0, ""), b.url(0, ""));
    fill(&a.url(0, KEYS), 0, 100);
    for key in 0..10 {
        let deleted = delete(&a.url(1, &format!("{KEYS}/{key:04}")));
        assert_eq!(deleted.status, 202);
    }
    let lasting = format!("{KEYS}/lasting?expires_in=3600");
    assert_eq!(put(&a.url(0, &lasting), b"x").status, 201);
    let to = format!("{},{}/default", at_b, b.url(1, ""));
    let made = succeeds(
        &at_a,
        &["link", "create", "ab", "--from", "default", "--to", &to],
    );
    assert!(made.contains("default ->"), "{made}");
    equal(&at_a, &at_b, ("default", "default"));
    // Later writes: values, deletes, and values that end by themselves.
    fill(&a.url(1, KEYS), 100, 150);
    let short = format!("{KEYS}/short?expires_in=1");
    assert_eq!(put(&a.url(0, &short), b"x").status, 201);
    assert_eq!(delete(&a.url(0, &format!("{KEYS}/0050"))).status, 202);
    equal(&at_a, &at_b, ("default", "default"));
    assert_eq!(get(&b.url(1, &format!("{KEYS}/0050"))).status, 404);
    eventually("its time is over there, too", ARRIVES, || {
        get(&b.url(0, &format!("{KEYS}/short"))).status == 404
    });
    // The newest version wins, wherever it was written; nothing comes back from a one-way link.
    assert_eq!(
        put(&b.url(0, &format!("{KEYS}/0060")), b"theirs").status,
        201
    );
    fill(&a.url(0, KEYS), 61, 62);
    let sent = |key: &str| {
        get(&b.url(0, &format!("{KEYS}/{key}")))
            .version()
            .to_owned()
    };
    let at = |key: &str| {
        get(&a.url(0, &format!("{KEYS}/{key}")))
            .version()
            .to_owned()
    };
    eventually("it arrives", ARRIVES, || sent("0061") == at("0061"));
    assert_eq!(get(&b.url(0, &format!("{KEYS}/0060"))).text(), "theirs");
    assert_eq!(get(&a.url(0, &format!("{KEYS}/0060"))).text(), "v60");
    fill(&a.url(0, KEYS), 60, 61);
    equal(&at_a, &at_b, ("default", "default"));
    let state = link(&at_a, "ab");
    eventually("it has nothing left to do", ARRIVES, || {
        link(&at_a, "ab")["state"] == "current"
    });
    let sent = || link(&at_a, "ab")["sent"].as_u64().unwrap();
    assert!((140..=400).contains(&sent()), "{state}");
    let metrics = curl(&[&a.url(0, "/metrics")]);
    assert!(
        metrics.text().contains("dunlin_link_sent_total{"),
        "{}",
        metrics.text()
    );
    let then_ms = link(&at_a, "ab")["now_ms"].as_u64().unwrap();
    eventually("its progress is stored", ARRIVES, || {
        let state = link(&at_a, "ab");
        let now_ms = state["now_ms"].as_u64().unwrap();
        let age_s = state["delivered_age_s"].as_u64();
        age_s.is_some_and(|age_s| now_ms > then_ms + 1_000 * (age_s + 1))
    });
    // Paused it sends nothing; resumed it goes on where it was.
    succeeds(&at_a, &["link", "pause", "ab"]);
    eventually("it is paused", ARRIVES, || {
        link(&at_a, "ab")["state"] == "paused"
    });
    let before = sent();
    fill(&a.url(0, KEYS), 200, 220);
    succeeds(&at_a, &["link", "resume", "ab"]);
    equal(&at_a, &at_b, ("default", "default"));
    let again = sent();
    assert!(
        again < before + 120,
        "{before} {again}: the snapshot is not sent again"
    );
    succeeds(&at_a, &["link", "drop", "ab"]);
    assert_eq!(succeeds(&at_a, &["link", "list"]), "");
    refused(&at_a, &["link", "show", "ab"]);
}

#[test]
fn a_link_that_makes_no_sense_is_refused_in_one_line() {
    let (a, b) = (Up::nodes(1), Up::nodes(1));
    let (at_a, at_b) = (a.url(0, ""), b.url(0, ""));
    let create = |to: &str, more: &[&str]| {
        let mut arguments = vec!["link", "create", "ab", "--from", "default", "--to", to];
        arguments.extend(more);
        refused(&at_a, &arguments)
    };
    let says = |line: String, what: &str| assert!(line.contains(what), "{what}: {line}");
    says(
        create(&format!("{at_a}/two"), &["--create"]),
        "this very cluster",
    );
    says(
        create("http://127.0.0.1:1/default", &[]),
        "cannot be reached",
    );
    says(create(&at_b, &[]), "give servers and a keyspace");
    says(create(&format!("{at_b}/two"), &[]), "--create makes it");
    says(
        create(&format!("{at_b}/default"), &["--login", "x"]),
        "--link-logins",
    );
    let transactional = json!({"name": "t", "mode": "transactional", "replicas": 1}).to_string();
    let keyspaces = b.url(0, "/v1/keyspaces");
    assert_eq!(
        curl_with(&["-d", "@-", &keyspaces], transactional.as_bytes()).status,
        201
    );
    says(create(&format!("{at_b}/t"), &[]), "t is transactional");
    let short = json!({"name": "s", "tombstone_grace_s": 3600}).to_string();
    assert_eq!(
        curl_with(&["-d", "@-", &keyspaces], short.as_bytes()).status,
        201
    );
    says(create(&format!("{at_b}/s"), &[]), "--tombstone-grace 1d");
    // A delete is remembered: a keyspace with one is not empty.
    assert_eq!(delete(&b.url(0, &format!("{KEYS}/k"))).status, 202);
    says(create(&format!("{at_b}/default"), &[]), "holds nothing");
    let list = succeeds(&at_a, &["link", "list"]);
    assert_eq!(list, "", "nothing was made");
    // A report of a link that is not there is kept: it may be about to send. One that is none is refused.
    let progress = b.url(0, "/v1/keyspaces/default/link-progress");
    let report = |version: &str| {
        let cluster = "000000000000000000000000000000aa";
        let report = json!({"link": 1, "name": "ab", "keyspace_id": 1, "cluster": cluster, "homes": {cluster: {"since": version}}});
        curl_with(&["-d", "@-", &progress], report.to_string().as_bytes())
    };
    let taken = report(&version_now());
    assert_eq!(taken.status, 200, "{}", taken.text());
    assert_eq!(report("yesterday").status, 400);
    // A body that is no batch changes nothing.
    let entries = b.url(0, "/v1/keyspaces/default/entries");
    for body in [&b""[..], b"hello", &[1; 80]] {
        assert_eq!(
            curl_with(&["--data-binary", "@-", &entries], body).status,
            400
        );
    }
}

#[test]
fn a_link_goes_on_after_kills_on_both_sides_and_with_part_of_the_keys() {
    let mut a = Flock::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("b");
    let mut b = Up::on(&data, 3);
    let at_a = format!("http://{}", a.nodes[1].address());
    let put = |a: &Flock, node: usize, key: &str| {
        eventually("it is stored", ARRIVES, || {
            let put = a.nodes[node].try_request("PUT", &format!("{KEYS}/{key}"), key.as_bytes());
            put.is_ok_and(|put| put.status == 201)
        });
    };
    let to = format!("{}/part", b.url(0, ""));
    let create = [
        "link", "create", "ab", "--from", "default", "--to", &to, "--prefix", "p",
    ];
    succeeds(&at_a, &[&create[..], &["--create"]].concat());
    for key in 0..200 {
        if key == 50 {
            a.kill(0);
        }
        if key == 100 {
            b.process.kill();
        }
        put(&a, 1 + key % 2, &format!("p{key:03}"));
        put(&a, 1 + key % 2, &format!("q{key:03}"));
    }
    a.up(0);
    drop(b);
    // It has other ports now.
    let b = Up::on(&data, 3);
    succeeds(&at_a, &["link", "set", "ab", "--to", &b.url(0, "")]);
    let of_a = || {
        let all = scan(&at_a, "default");
        let part = all.lines().filter(|line| line.contains("\"key\":\"p"));
        part.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(of_a().lines().count(), 200);
    eventually("all of them arrive, and nothing else", ARRIVES, || {
        scan(&b.url(0, ""), "part") == of_a()
    });
}

#[test]
fn a_link_has_a_login_in_a_file_of_each_node() {
    let b = Up::nodes(1);
    let at_b = b.url(0, "");
    close(&at_b);
    let roles = json!({ "default": "admin" });
    add(ADMIN, &at_b, "link:right one", roles, false);
    add(
        ADMIN,
        &at_b,
        "writer:right one",
        json!({ "default": "write" }),
        false,
    );
    let directory = tempfile::tempdir().unwrap();
    let logins = directory.path().join("logins");
    let login = |user: &str, password: &str| {
        let text = format!("[b]\nuser = \"{user}\"\npassword = \"{password}\"\n");
        fs::write(&logins, text).unwrap();
    };
    login("link", "right one");
    let a = Up::with(1, &["--link-logins", logins.to_str().unwrap()]);
    let at_a = a.url(0, "");
    let to = format!("{at_b}/default");
    let create = ["link", "create", "ab", "--from", "default", "--to", &to];
    let nobody = refused(&at_a, &create);
    assert!(nobody.contains("401"), "{nobody}");
    succeeds(&at_a, &[&create[..], &["--login", "b"]].concat());
    fill(&a.url(0, KEYS), 0, 5);
    let arrives = |key: &str| {
        eventually("it arrives", ARRIVES, || {
            ask(ADMIN, "GET", &b.url(0, &format!("{KEYS}/{key}")), b"").status == 200
        });
    };
    arrives("0004");
    // `write` is not enough to choose versions; the error is visible, and a change of the file ends it.
    login("writer", "right one");
    fill(&a.url(0, KEYS), 5, 6);
    eventually("the link shows the error", ARRIVES, || {
        let state = link(&at_a, "ab");
        state["state"] == "waiting" && state["why"].as_str().unwrap_or_default().contains("403")
    });
    login("link", "right one");
    arrives("0005");
    let metadata = curl(&[&a.url(0, "/v1/status")]);
    assert!(
        !metadata.text().contains("right one"),
        "no secret is visible"
    );
}

#[test]
fn clusters_follow_one_another_both_ways_and_in_a_ring() {
    let (a, b, c) = (Up::nodes(1), Up::nodes(2), Up::nodes(1));
    let [at_a, at_b, at_c] = [&a, &b, &c].map(|up| up.url(0, ""));
    fill(&a.url(0, KEYS), 0, 30);
    let to = |server: &str| format!("{server}/default");
    let create = |server: &str, name: &str, to: &str, more: &[&str]| {
        let create = ["link", "create", name, "--from", "default", "--to", to];
        run(server, &[&create[..], more].concat())
    };
    // The link back is made once all that is here has arrived there.
    let (code, text) = create(&at_a, "ab", &to(&at_b), &["--both-ways"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(link(&at_b, "ab")["to"], json!([at_a]));
    fill(&b.url(1, KEYS), 20, 50);
    assert_eq!(delete(&b.url(0, &format!("{KEYS}/0000"))).status, 202);
    fill(&a.url(0, KEYS), 40, 60);
    equal(&at_a, &at_b, ("default", "default"));
    assert_eq!(get(&a.url(0, &format!("{KEYS}/0000"))).status, 404);
    // Again it changes nothing.
    let (code, text) = create(&at_a, "ab", &to(&at_b), &["--both-ways"]);
    assert_eq!(code, Some(0), "{text}");
    // A third cluster: the ring is closed once all of it is there, its entries by way of the second.
    let (code, text) = create(&at_b, "bc", &to(&at_c), &[]);
    assert_eq!(code, Some(0), "{text}");
    eventually("the ring may be closed", ARRIVES, || {
        let (code, text) = create(&at_c, "ca", &to(&at_a), &[]);
        assert!(
            code == Some(0) || text.contains("have arrived here"),
            "{text}"
        );
        code == Some(0)
    });
    fill(&c.url(0, KEYS), 60, 80);
    assert_eq!(delete(&c.url(0, &format!("{KEYS}/0001"))).status, 202);
    fill(&b.url(0, KEYS), 80, 90);
    equal(&at_a, &at_b, ("default", "default"));
    equal(&at_b, &at_c, ("default", "default"));
    assert_eq!(scan(&at_c, "default").lines().count(), 88);
    // Nothing circles.
    let sent = || ["ab"].map(|name| link(&at_a, name)["sent"].as_u64().unwrap());
    let before = sent();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(sent(), before);
    let inbound = curl(&[&a.url(0, "/v1/inbound-links")]).json();
    let names = inbound.as_array().unwrap().iter().map(|link| {
        let name = link["name"].as_str().unwrap().to_owned();
        (name, link["state"].as_str().unwrap().to_owned())
    });
    let current = |name: &str| (name.to_owned(), "current".to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, [current("ab"), current("ca")]);
    // A keyspace with records of its own is no target.
    let d = Up::nodes(1);
    fill(&d.url(0, KEYS), 0, 1);
    let line = refused(
        &at_a,
        &[
            "link",
            "create",
            "ad",
            "--from",
            "default",
            "--to",
            &to(&d.url(0, "")),
        ],
    );
    assert!(line.contains("holds nothing"), "{line}");
    // What a refused link sends is not taken any more, and the sender says so.
    succeeds(&at_a, &["link", "drop", "ca", "--inbound"]);
    fill(&c.url(0, KEYS), 90, 91);
    eventually("its sender is refused", ARRIVES, || {
        let state = link(&at_c, "ca");
        state["state"] == "broken"
            && state["why"]
                .as_str()
                .unwrap_or_default()
                .contains("dropped")
    });
    // One that its sender drops is known to be dropped.
    succeeds(&at_b, &["link", "drop", "ab"]);
    let list = succeeds(&at_a, &["link", "list"]);
    assert_eq!(list.matches("  dropped").count(), 2, "{list}");
}
