//! Values that go away by themselves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::harness::child::dunlin;
use crate::harness::curl::get;
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

#[test]
fn an_expired_value_is_gone_everywhere() {
    let up = Up::nodes(3);
    let path = "/v1/keyspaces/default/keys/e";
    let mut wires: Vec<Wire> = up.ports.iter().map(|port| Wire::open(*port)).collect();
    let stored = wires[0].request("PUT", &format!("{path}?expires_in=2"), "soon gone");
    assert_eq!(stored.status, 201);
    assert_eq!(
        wires[1].request("PUT", "/v0/entity?id=f", "stays").status,
        201
    );
    for wire in &mut wires {
        assert_eq!(wire.request("GET", path, "").text(), "soon gone");
        assert_eq!(
            wire.request("GET", "/v0/entities?start=e", "").body,
            b"e\nsoon gonef\nstays"
        );
    }
    for wire in &mut wires {
        eventually("the value expires", Duration::from_secs(6), || {
            wire.request("GET", path, "").status == 404
        });
        assert_eq!(wire.request("HEAD", path, "").status, 404);
        assert_eq!(
            wire.request("GET", "/v0/entities?start=e", "").body,
            b"f\nstays"
        );
    }
    let wire = &mut wires[2];
    assert_eq!(wire.request("PUT", path, "new").status, 201);
    assert_eq!(wire.request("GET", path, "").text(), "new");
    // A put without expiry takes an earlier one away.
    assert_eq!(
        wire.request("PUT", &format!("{path}?expires_in=1"), "x")
            .status,
        201
    );
    assert_eq!(wire.request("PUT", path, "for ever").status, 201);
    std::thread::sleep(Duration::from_millis(1_300));
    assert_eq!(wire.request("GET", path, "").text(), "for ever");
}

/// How often each key's value is ended in the log of a node, and by which positions' origins.
fn ends(node: &Path) -> BTreeMap<String, Vec<String>> {
    let shards = std::fs::read_dir(node)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let logs = shards
        .map(|shard| shard.join("log"))
        .filter(|log| log.is_dir());
    let files = logs.flat_map(|log| std::fs::read_dir(log).unwrap());
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.map(|entry| entry.unwrap().path()) {
        let dumped = dunlin()
            .args(["log", "dump", "--json"])
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8(dumped.stdout).unwrap();
        let rows = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        for row in rows.filter(|row| row["entry"]["is_expiry"] == true) {
            let entry = &row["entry"];
            assert_eq!(entry["kind"], "delete");
            let origin = entry["position"]["origin"].as_str().unwrap();
            let key = entry["key"].as_str().unwrap().to_owned();
            ends.entry(key).or_default().push(origin.to_owned());
        }
    }
    ends
}

#[test]
fn that_values_are_over_is_logged_once_for_all_replicas() {
    const KEYS: usize = 20;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, 3);
    let mut wires: Vec<Wire> = up.ports.iter().map(|port| Wire::open(*port)).collect();
    let path = |key: &str| format!("/v1/keyspaces/default/keys/{key}");
    for number in 0..KEYS {
        let path = path(&format!("k{number}"));
        let wire = &mut wires[number % 3];
        let stored = wire.request("PUT", &format!("{path}?expires_in=1"), "soon gone");
        assert_eq!(stored.status, 201);
    }
    // Renewed before it is over: nothing ends it.
    let renewed = path("renewed");
    for time in ["?expires_in=1", "?expires_in=100"] {
        let stored = wires[0].request("PUT", &format!("{renewed}{time}"), "stays");
        assert_eq!(stored.status, 201);
    }
    let ended = || -> usize {
        let figure = |port: &u16| {
            let text = get(&format!("http://127.0.0.1:{port}/metrics"));
            let lines = text.text().lines().map(str::to_owned).collect::<Vec<_>>();
            let is_it = |line: &&String| line.starts_with("dunlin_values_ended_total");
            let figures = lines.iter().filter(is_it);
            figures
                .map(|line| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap())
                .sum::<usize>()
        };
        up.ports.iter().map(figure).sum()
    };
    eventually("all are ended", Duration::from_secs(30), || ended() >= KEYS);
    assert_eq!(wires[1].request("GET", &renewed, "").text(), "stays");
    assert_eq!(up.process.stop(), Some(0));

    let nodes: Vec<_> = (1..=3)
        .map(|node| ends(&data.join(format!("n{node}"))))
        .collect();
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(node.len(), KEYS, "node {}: {node:?}", number + 1);
        assert!(!node.contains_key("renewed"));
        // The very entry that the first replica logged, and no other's.
        assert_eq!(*node, nodes[0], "node {}", number + 1);
    }
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    for time in [
        "0",
        "-1",
        "",
        "soon",
        "1.5",
        "18446744073709551615",
        "99999999999999999999",
    ] {
        let path = format!("/v1/keyspaces/default/keys/e?expires_in={time}");
        assert_eq!(wire.request("PUT", &path, "x").status, 400, "{time}");
    }
    let far = wire.request(
        "PUT",
        "/v1/keyspaces/default/keys/e?expires_in=3155760000",
        "x",
    );
    assert_eq!(far.status, 201);
    assert_eq!(
        wire.request("GET", "/v1/keyspaces/default/keys/e", "")
            .text(),
        "x"
    );
}
