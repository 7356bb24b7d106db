//! A metadata store that has lost its memory, or parts of it, takes no data with it, and is put
//! back. Nodes start without it.

use std::collections::BTreeMap;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use crate::harness::child::dunlin;
use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};
use crate::harness::load::{Writer, verify, verify_within};

const SOON: Duration = Duration::from_secs(30);

fn problems(node: &Node) -> Vec<String> {
    let health = node.request("GET", "/health", b"");
    let problems = health.json()["problems"].clone();
    serde_json::from_value(problems).unwrap()
}

/// Waits until every node tells of a problem that holds `words`, or of none at all.
fn told(flock: &Flock, words: Option<&str>) {
    for node in &flock.nodes {
        let what = format!("{} tells of {words:?}", node.name);
        eventually(&what, SOON, || match words {
            None => problems(node).is_empty(),
            Some(words) => problems(node).iter().any(|line| line.contains(words)),
        });
    }
}

/// Waits until every node is registered as the start that it is, and knows the others so.
fn incarnations(flock: &Flock) -> BTreeMap<String, u64> {
    let of = |node: &Node| -> BTreeMap<String, u64> {
        let status = node.status();
        let nodes = status["nodes"].as_array().unwrap().iter();
        nodes
            .map(|node| {
                let name = node["name"].as_str().unwrap().to_owned();
                (name, node["incarnation"].as_u64().unwrap())
            })
            .collect()
    };
    let mut first = BTreeMap::new();
    eventually("all know the same starts", SOON, || {
        first = of(&flock.nodes[0]);
        flock.nodes.iter().all(|node| of(node) == first)
    });
    first
}

fn run(arguments: &[&str]) -> Output {
    dunlin().args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn servers(flock: &Flock) -> String {
    let urls = flock.nodes.iter();
    let urls: Vec<String> = urls
        .map(|node| format!("http://{}", node.address()))
        .collect();
    urls.join(",")
}

fn create(node: &Node, name: &str) {
    let body = format!(r#"{{"name": "{name}"}}"#);
    let made = node.request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{made:?}");
}

/// Waits until every node answers `status` for a key.
fn answers(flock: &Flock, path: &str, status: u16) {
    for node in &flock.nodes {
        let what = format!("{} answers {status} for {path}", node.name);
        eventually(&what, SOON, || {
            node.request("GET", path, b"").status == status
        });
    }
}

#[test]
fn an_etcd_that_was_wiped_takes_no_data_with_it_and_is_put_back() {
    let mut flock = Flock::start(&[]);
    let addresses = flock.addresses();
    let before = Writer::new("before", &addresses, 1, 60).run_count(300);
    create(&flock.nodes[0], "birds");
    answers(&flock, "/v1/keyspaces/birds", 200);
    let path = "/v1/keyspaces/birds/keys/dunlin";
    assert_eq!(flock.nodes[1].request("PUT", path, b"wader").status, 201);

    flock.etcd.kill();
    flock.etcd.wipe();
    flock.etcd.restart();
    for write in 0..50 {
        flock
            .etcd
            .ctl(&["put", "somebody/elses", &write.to_string()]);
    }
    told(&flock, Some("has lost cluster"));
    answers(&flock, path, 200);
    verify(&before, &flock.nodes, "");
    let during = Writer::new("during", &addresses, 2, 60).run_count(200);
    verify(&during, &flock.nodes, "");
    for node in &flock.nodes {
        let refused = node.request("POST", "/v1/keyspaces", br#"{"name": "later"}"#);
        assert_eq!(refused.status, 503, "{refused:?}");
        let status = node.status();
        assert!(!status["problems"].as_array().unwrap().is_empty());
    }
    let server = servers(&flock);
    let shown = run(&["status", "--server", &server]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("dunlin metadata restore"), "{text}");

    // One that starts meanwhile goes by its cache, under an incarnation of its own.
    flock.stop(2);
    flock.up(2);
    flock.wait_connected();
    verify_within(&during, &flock.nodes, "", SOON);
    // An empty one does not begin another cluster in its place unseen.
    let url = flock.etcd.url();
    let restore = |server: &str, force: bool| {
        let mut arguments = vec![
            "metadata",
            "restore",
            "--metadata",
            &url,
            "--server",
            server,
        ];
        if force {
            arguments.push("--force");
        }
        run(&arguments)
    };
    let none = restore("http://127.0.0.1:1", true);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(said(&none).contains("no node has told"), "{none:?}");
    // The others are found through the one that is named.
    let first = format!("http://{}", flock.nodes[0].address());
    let done = restore(&first, false);
    assert!(done.status.success(), "{done:?}");
    told(&flock, None);
    let starts = incarnations(&flock);
    assert!(starts["n3"] > 1, "{starts:?}");
    verify(&before, &flock.nodes, "");
    verify_within(&during, &flock.nodes, "", SOON);
    create(&flock.nodes[2], "later");
    answers(&flock, "/v1/keyspaces/later", 200);
    let again = restore(&first, true);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(said(&again).contains("it is whole"), "{again:?}");

    // Starts after it are later ones.
    for index in 0..3 {
        flock.kill(index);
        flock.up(index);
    }
    flock.wait_connected();
    for (name, start) in incarnations(&flock) {
        assert!(start > starts[&name], "{name}: {start} after {starts:?}");
    }
    verify_within(&during, &flock.nodes, "", SOON);
    answers(&flock, path, 200);
}

#[test]
fn a_restore_without_a_majority_takes_force() {
    let mut flock = Flock::start(&[]);
    let ledger = Writer::new("kept", &flock.addresses(), 1, 60).run_count(200);
    flock.etcd.kill();
    flock.etcd.wipe();
    flock.etcd.restart();
    told(&flock, Some("has lost cluster"));
    flock.kill(1);
    flock.kill(2);
    let url = flock.etcd.url();
    let server = format!("http://{}", flock.nodes[0].address());
    let restore = [
        "metadata",
        "restore",
        "--metadata",
        &url,
        "--server",
        &server,
    ];
    let refused = run(&restore);
    assert_eq!(refused.status.code(), Some(1));
    let line = said(&refused);
    assert!(
        line.contains("only 1 of 3 members") && line.contains("--force"),
        "{line}"
    );
    let forced = run(&[&restore[..], &["--force"]].concat());
    assert!(forced.status.success(), "{forced:?}");
    flock.up_all();
    told(&flock, None);
    verify_within(&ledger, &flock.nodes, "", SOON);
}

#[test]
fn objects_that_are_missing_or_unreadable_change_nothing() {
    let mut flock = Flock::start(&[]);
    create(&flock.nodes[0], "birds");
    answers(&flock, "/v1/keyspaces/birds", 200);
    let path = "/v1/keyspaces/birds/keys/dunlin";
    assert_eq!(flock.nodes[1].request("PUT", path, b"wader").status, 201);
    let key = "/dunlin/v1/keyspaces/birds";
    let whole = flock.etcd.ctl(&["get", key, "--print-value-only"]);
    let newer = whole.replace(r#""settings":{"#, r#""settings":{"colour":"red","#);
    assert_ne!(whole, newer);
    flock.etcd.ctl(&["put", key, newer.trim()]);
    told(&flock, Some("keyspace birds cannot be read"));
    for index in 0..3 {
        flock.stop(index);
        flock.up(index);
    }
    flock.wait_connected();
    answers(&flock, path, 200);
    flock.etcd.ctl(&["del", key]);
    told(&flock, Some("keyspace birds"));
    answers(&flock, path, 200);
    let later = flock.nodes[0].request("POST", "/v1/keyspaces", br#"{"name": "later"}"#);
    assert_eq!(later.status, 201, "{later:?}");
    flock.etcd.ctl(&["put", key, whole.trim()]);
    told(&flock, None);
    answers(&flock, path, 200);
    let members = flock
        .etcd
        .ctl(&["get", "/dunlin/v1/members", "--print-value-only"]);
    flock.etcd.ctl(&["del", "/dunlin/v1/members"]);
    flock.etcd.ctl(&["put", "/dunlin/v1/members", "{"]);
    told(&flock, Some("members cannot be read"));
    answers(&flock, path, 200);
    flock
        .etcd
        .ctl(&["put", "/dunlin/v1/members", members.trim()]);
    told(&flock, None);
}

#[test]
fn nodes_start_and_serve_while_etcd_is_away_and_register_later() {
    let mut flock = Flock::start(&[]);
    let addresses = flock.addresses();
    let before = Writer::new("before", &addresses, 1, 60).run_count(200);
    let first = incarnations(&flock);
    for index in 0..3 {
        flock.stop(index);
    }
    flock.etcd.kill();
    flock.up_all();
    verify_within(&before, &flock.nodes, "", SOON);
    let during = Writer::new("during", &addresses, 2, 60).run_count(200);
    told(&flock, Some("does not answer"));
    // Twice: each start has an incarnation of its own, whether etcd knows of it or not.
    let own = |flock: &Flock| -> Vec<u64> {
        let of = |node: &Node| {
            let told = node.request("GET", "/v1/metadata", b"").json();
            let mut nodes = told["topology"]["nodes"].as_array().unwrap().iter();
            let own = nodes.find(|each| each["name"] == node.name);
            let number = own.unwrap()["id"].to_string();
            told["incarnations"][&number].as_u64().unwrap()
        };
        flock.nodes.iter().map(of).collect()
    };
    let second = own(&flock);
    flock.kill(1);
    flock.up(1);
    flock.wait_connected();
    let third = own(&flock);
    assert!(
        second
            .iter()
            .zip(first.values())
            .all(|(now, before)| now > before)
    );
    assert!(third[1] > second[1], "{third:?} after {second:?}");
    flock.etcd.restart();
    told(&flock, None);
    eventually("the starts are registered", SOON, || {
        incarnations(&flock).into_values().eq(third.iter().copied())
    });
    verify_within(&during, &flock.nodes, "", SOON);
    create(&flock.nodes[1], "later");
    answers(&flock, "/v1/keyspaces/later", 200);
}

#[test]
fn a_directory_of_another_cluster_is_refused_in_one_line() {
    let mut flock = Flock::start(&[]);
    for index in 0..3 {
        flock.stop(index);
    }
    let mut other = Flock::prepare(&[]);
    // Without its cache only the directory knows where it belongs.
    let data = flock.nodes[0].data.clone();
    std::fs::remove_file(data.join("topology.json")).unwrap();
    other.nodes[0].data = data;
    for begins in [false, true] {
        if begins {
            other.nodes[1].name = "n1".to_owned();
            other.up(1);
        }
        other.spawn(0);
        let process = other.nodes[0].process_mut();
        assert_eq!(process.ended(SOON), Some(1), "{}", process.output());
        let output = process.output();
        let last = output.lines().last().unwrap();
        assert!(
            last.starts_with("dunlin: ") && last.contains("cluster"),
            "{output}"
        );
    }
}

fn status_bytes(node: &Node) -> u64 {
    let status = node.status();
    let own = format!("{}/", node.name);
    let shards = status["shards"].as_array().unwrap().iter();
    let own = shards.filter(|shard| shard["shard"].as_str().unwrap().starts_with(&own));
    own.map(|shard| shard["store_bytes"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_dropped_keyspace_goes_from_every_disk_and_can_be_taken_back_until_then() {
    let flags = ["--flush", "1MiB", "--segment", "1MiB", "--drop-delay", "4s"];
    let mut flock = Flock::start(&flags);
    for name in ["kept", "gone"] {
        create(&flock.nodes[0], name);
        answers(&flock, &format!("/v1/keyspaces/{name}"), 200);
    }
    // In turns, so that files hold records of both.
    let mut random = crate::harness::random::Random::new(5);
    let mut wire = flock.nodes[0].wire();
    for number in 0..1_500 {
        for name in ["kept", "gone"] {
            let value: Vec<u8> = (0..1_000)
                .flat_map(|_| random.next().to_le_bytes())
                .collect();
            let path = format!("/v1/keyspaces/{name}/keys/k{number}");
            let put = wire.try_request("PUT", &path, &value[..4_000]).unwrap();
            assert_eq!(put.status, 201);
        }
    }
    let server = servers(&flock);
    let keyspace = |verb: &str| run(&["keyspace", verb, "gone", "--server", &server]);
    let key = "/v1/keyspaces/gone/keys/k700";
    assert!(keyspace("drop").status.success());
    answers(&flock, key, 404);
    let list = run(&["keyspace", "list", "--dropped", "--server", &server]);
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(text.contains("kept for undrop"), "{text}");
    let back = keyspace("undrop");
    assert!(back.status.success(), "{back:?}");
    answers(&flock, key, 200);
    assert_eq!(keyspace("undrop").status.code(), Some(3));

    flock.kill(2);
    assert!(keyspace("drop").status.success());
    let purged = |node: &Node| {
        let dropped: Value = node.request("GET", "/v1/dropped", b"").json();
        let dropped = dropped.as_array().unwrap();
        dropped.len() == 1 && dropped[0]["purged"] == true
    };
    eventually("the delay is over", SOON, || purged(&flock.nodes[0]));
    let late = keyspace("undrop");
    assert_eq!(late.status.code(), Some(1));
    assert!(said(&late).contains("too long ago"), "{late:?}");
    flock.up(2);
    // 6 MB of each, so what is kept and nothing else; some of it may still be in memory.
    for node in &flock.nodes {
        eventually(&format!("{} gives all space back", node.name), SOON, || {
            let bytes = status_bytes(node);
            assert!(bytes > 1 << 20, "what is kept is there");
            bytes < 7 << 20
        });
    }
    answers(&flock, "/v1/keyspaces/kept/keys/k700", 200);
    answers(&flock, key, 404);
}

/// A copy of etcd from between a drop and its undrop, believed by a node that was away all the
/// while: it must not take the data of the others, nor its own.
#[test]
fn a_drop_that_was_taken_back_does_not_happen_by_an_old_copy_of_etcd() {
    let mut flock = Flock::start(&["--drop-delay", "6s"]);
    create(&flock.nodes[0], "birds");
    answers(&flock, "/v1/keyspaces/birds", 200);
    let path = "/v1/keyspaces/birds/keys/dunlin";
    assert_eq!(flock.nodes[1].request("PUT", path, b"wader").status, 201);
    flock.stop(2);
    let dropped = flock.nodes[0].request("DELETE", "/v1/keyspaces/birds", b"");
    assert_eq!(dropped.status, 204);
    let copy = flock.etcd.copy();
    let back = flock.nodes[0].request("POST", "/v1/keyspaces/birds/undrop", b"");
    assert_eq!(back.status, 200, "{back:?}");
    flock.etcd.kill();
    flock.etcd.put_back(&copy);
    flock.etcd.restart();
    flock.up(2);
    // The copy is behind what the others saw, and grows past it.
    for write in 0..200 {
        flock
            .etcd
            .ctl(&["put", "somebody/elses", &write.to_string()]);
    }
    for node in &flock.nodes[..2] {
        let what = format!("{} tells of an old copy", node.name);
        eventually(&what, SOON, || {
            problems(node).iter().any(|line| line.contains("old copy"))
        });
    }
    // Longer than the delay.
    std::thread::sleep(Duration::from_secs(8));
    for node in &flock.nodes[..2] {
        assert_eq!(
            node.request("GET", path, b"").text(),
            "wader",
            "{}",
            node.name
        );
    }
    let (url, server) = (flock.etcd.url(), servers(&flock));
    let restored = run(&[
        "metadata",
        "restore",
        "--metadata",
        &url,
        "--server",
        &server,
    ]);
    assert!(restored.status.success(), "{}", said(&restored));
    told(&flock, None);
    answers(&flock, path, 200);
    std::thread::sleep(Duration::from_secs(7));
    answers(&flock, path, 200);
}
