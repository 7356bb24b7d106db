//! `dunlin up` as a newcomer meets it: the banner's own lines, every verb, stop and start again.

use std::process::Command;
use std::time::Duration;

use crate::harness::child::{self, Process};
use crate::harness::ports;
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::support::{Ended, dunlin, run};

fn at(up: &Up, arguments: &[&str]) -> Ended {
    let servers: Vec<String> = (0..up.ports.len()).map(|node| up.url(node, "")).collect();
    let mut command = dunlin(arguments);
    command.env("DUNLIN_SERVER", servers.join(","));
    command.output().unwrap().into()
}

#[test]
fn the_banners_lines_work_when_pasted() {
    let mut up = Up::nodes(3);
    let banner = up.process.output();
    let lines: Vec<&str> = banner
        .lines()
        .filter(|line| line.trim_start().starts_with("curl "))
        .collect();
    assert_eq!(lines.len(), 3, "{banner}");
    let pasted: Vec<String> = lines
        .iter()
        .map(|line| {
            let output = Command::new("sh").args(["-c", line]).output().unwrap();
            assert!(output.status.success(), "{line}");
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    assert!(pasted[0].starts_with("HTTP/1.1 201 "), "{}", pasted[0]);
    assert!(
        pasted[1].starts_with("HTTP/1.1 200 ") && pasted[1].ends_with("a small wader"),
        "{}",
        pasted[1]
    );
    assert_eq!(pasted[2], "dunlin\na small wader");
    assert_eq!(up.process.stop(), Some(0));
    assert!(
        up.process.output().ends_with("stopped\n"),
        "{}",
        up.process.output()
    );
}

#[test]
fn every_verb_works_on_a_real_cluster() {
    let up = Up::nodes(3);
    let version = at(&up, &["put", "a", "1"]).ok().text().trim().to_owned();
    let got = at(&up, &["get", "a", "--json"]).ok().json();
    assert_eq!(
        (got["value"].as_str(), got["version"].as_str()),
        (Some("1"), Some(version.as_str()))
    );
    let refused = at(&up, &["put", "a", "2", "--if-version", &version]);
    let line = refused.complaint(1);
    assert!(line.contains("--mode transactional"), "{line}");
    at(&up, &["put", "a", "2"]).ok();
    at(&up, &["put", "gone", "soon", "--expires-in", "1"]).ok();
    at(&up, &["put", "b", ""]).ok();
    at(&up, &["delete", "b"]).ok();
    assert_eq!(at(&up, &["get", "b"]).code, 3);
    crate::harness::eventually(
        "the value expires",
        std::time::Duration::from_secs(5),
        || at(&up, &["get", "gone"]).code == 3,
    );

    at(
        &up,
        &[
            "keyspace",
            "create",
            "birds",
            "--replicas",
            "2",
            "--sync",
            "interval:50ms",
        ],
    )
    .ok();
    assert!(
        at(&up, &["keyspace", "create", "birds"])
            .complaint(1)
            .contains("409")
    );
    let described = at(&up, &["keyspace", "describe", "birds", "--json"])
        .ok()
        .json();
    assert_eq!(described["settings"]["sync"], "interval:50ms");
    assert_eq!(described["settings"]["replicas"], 2);
    assert_eq!(
        at(&up, &["keyspace", "list", "--json"])
            .ok()
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );

    let lines: String = (0..500)
        .map(|n| format!("{{\"id\":\"k{n:03}\"}}\n"))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f.jsonl");
    std::fs::write(&file, lines).unwrap();
    let file = file.to_str().unwrap();
    let report = at(
        &up,
        &[
            "import", "--format", "jsonl", "--key", "id", "-k", "birds", "--json", file,
        ],
    )
    .ok()
    .json();
    assert_eq!(report["records"], 500);
    let scanned = at(
        &up,
        &[
            "scan", "-k", "birds", "--prefix", "k1", "--limit", "50", "--json",
        ],
    )
    .ok();
    let keys: Vec<String> = scanned
        .text()
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["key"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        keys,
        (100..150).map(|n| format!("k{n}")).collect::<Vec<_>>()
    );
    at(&up, &["keyspace", "drop", "birds"]).ok();
    assert_eq!(
        at(&up, &["get", "-k", "birds", "k001"]).complaint(3),
        "there is no such keyspace"
    );

    let status = at(&up, &["status", "--json"]).ok().json();
    assert_eq!(status["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(status["followers"].as_array().unwrap().len(), 6);
    let text = at(&up, &["status"]).ok();
    assert!(
        text.text().contains("NODE") && !text.text().contains('\x1b'),
        "{}",
        text.text()
    );
}

#[test]
fn what_is_in_the_way_of_a_start_is_one_line() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let up = Up::on(&data, 1);
    let port = up.ports[0].to_string();
    let ended = run(&[
        "up",
        "--nodes",
        "1",
        "--http-port",
        "1",
        "--data",
        data.to_str().unwrap(),
    ]);
    assert!(
        ended.complaint(1).contains("in use by another dunlin"),
        "{}",
        ended.stderr
    );
    let node = data.join("n1");
    let serve = [
        "serve",
        "--name",
        "n1",
        "--metadata",
        "embedded",
        "--data",
        node.to_str().unwrap(),
    ];
    assert!(
        run(&serve)
            .complaint(1)
            .contains("in use by another dunlin")
    );
    let other = home.path().join("other");
    let ended = run(&[
        "up",
        "--nodes",
        "1",
        "--http-port",
        &port,
        "--data",
        other.to_str().unwrap(),
    ]);
    let line = ended.complaint(1);
    assert!(line.contains(&port) && line.contains("in use"), "{line}");
}

#[test]
fn the_next_start_finds_the_data_and_one_node_alone_can_serve() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, 1);
    at(&up, &["put", "kept", "value"]).ok();
    assert_eq!(up.process.stop(), Some(0));
    let up = Up::on(&data, 1);
    assert_eq!(at(&up, &["get", "kept"]).ok().text(), "value");
}

#[test]
fn a_node_that_is_ready_answers() {
    let home = tempfile::tempdir().unwrap();
    let first = ports::row(3);
    for round in 0..3 {
        let mut process = Process::start(
            child::dunlin()
                .args(["up", "--http-port", &first.to_string(), "--data"])
                .arg(home.path().join("data")),
            &home.path().join("output"),
        );
        let ask = |method: &str, path: &str| {
            let answer = Wire::try_open(first).and_then(|mut w| w.try_request(method, path, b"v"));
            answer.map_or(0, |answer| answer.status)
        };
        crate::harness::eventually("it is ready", std::time::Duration::from_secs(30), || {
            ask("GET", "/health/ready") == 200
        });
        // The others of the process may still be starting.
        for key in ["a", "b", "c", "d"] {
            let path = format!("/v1/keyspaces/default/keys/{key}");
            let wanted = if round == 0 { 404 } else { 200 };
            assert_eq!(ask("GET", &path), wanted, "round {round}");
            assert_eq!(ask("PUT", &path), 201, "round {round}");
        }
        assert_eq!(process.stop(), Some(0));
    }
}

#[test]
fn an_older_copy_of_the_metadata_gives_no_keyspace_the_data_of_another() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let (metadata, older, newer) = (
        data.join("metadata.json"),
        home.path().join("older.json"),
        home.path().join("newer.json"),
    );
    let mut up = Up::on(&data, 3);
    assert_eq!(up.process.stop(), Some(0));
    std::fs::copy(&metadata, &older).unwrap();
    let mut up = Up::on(&data, 3);
    at(&up, &["keyspace", "create", "birds"]).ok();
    at(&up, &["put", "-k", "birds", "k", "wren"]).ok();
    assert_eq!(up.process.stop(), Some(0));
    std::fs::copy(&metadata, &newer).unwrap();

    std::fs::copy(&older, &metadata).unwrap();
    let mut up = Up::on(&data, 3);
    let told = Wire::open(up.ports[0]).request("GET", "/health", b"");
    let problems = told.json()["problems"].to_string();
    assert!(problems.contains("keyspace number 2"), "{problems}");
    at(&up, &["keyspace", "create", "bees"]).ok();
    let described = at(&up, &["keyspace", "describe", "bees", "--json"]).ok();
    assert_eq!(described.json()["id"], 3);
    assert_eq!(at(&up, &["get", "-k", "bees", "k"]).code, 3);
    assert_eq!(up.process.stop(), Some(0));

    std::fs::copy(&newer, &metadata).unwrap();
    let up = Up::on(&data, 3);
    assert_eq!(at(&up, &["get", "-k", "birds", "k"]).ok().text(), "wren");
}

#[test]
fn a_few_keys_written_often_are_counted_as_a_few() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    for number in 0..2_000 {
        let path = format!("/v1/keyspaces/default/keys/{}", number % 8);
        assert_eq!(wire.request("PUT", &path, b"value").status, 201);
    }
    assert_eq!(
        wire.request("DELETE", "/v1/keyspaces/default/keys/0", b"")
            .status,
        202
    );
    // Its data stays for an hour, but nobody sees it.
    at(&up, &["keyspace", "create", "gone"]).ok();
    for number in 0..20 {
        let path = format!("/v1/keyspaces/gone/keys/{number}");
        assert_eq!(wire.request("PUT", &path, b"value").status, 201);
    }
    at(&up, &["keyspace", "drop", "gone"]).ok();
    crate::harness::eventually("all replicas have it", Duration::from_secs(30), || {
        let status = at(&up, &["status", "--json"]).ok().json();
        let shards = status["shards"].as_array().unwrap();
        shards.len() == 3
            && shards
                .iter()
                .all(|shard| shard["keys"] == 7 && shard["keys_estimated"] == false)
    });
    let shown = at(&up, &["status"]).ok().text().to_owned();
    assert!(!shown.contains('~'), "{shown}");
}

/// A full disk under the log of the program, or a pipe that nobody reads any more, costs lines alone.
#[test]
fn a_cluster_goes_on_when_nobody_takes_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let port = ports::row(1);
    let mut command = dunlin(&["up", "--nodes", "1", "--http-port", &port.to_string()]);
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut cluster = command
        .arg("--data")
        .arg(directory.path().join("data"))
        .env("DUNLIN_LOG", "debug")
        .stdout(std::process::Stdio::null())
        .stderr(full.unwrap())
        .spawn()
        .unwrap();
    crate::harness::eventually("it answers", Duration::from_secs(30), || {
        assert_eq!(cluster.try_wait().unwrap(), None);
        let put = Wire::try_open(port)
            .and_then(|mut wire| wire.try_request("PUT", "/v0/entity?id=a", b"v"));
        put.is_ok_and(|answer| answer.status == 201)
    });
    cluster.kill().unwrap();
    cluster.wait().unwrap();
}
