//! A cluster that was written to with its clocks seventy years ahead, and runs with true ones since:
//! what was written then is read, and can be overwritten once `dunlin keyspace mend-stamps` was run.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::harness::child::without_settings;
use crate::harness::eventually;
use crate::harness::flock::Flock;

const SOON: Duration = Duration::from_secs(40);
const KEYS: usize = 40;
/// One more was written while the third node was away.
const FAR: usize = KEYS + 1;

fn dunlin(flock: &Flock, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
    without_settings(&mut command);
    let servers: Vec<String> = flock
        .addresses()
        .iter()
        .map(|a| format!("http://{a}"))
        .collect();
    command
        .args(arguments)
        .args(["--server", &servers.join(",")]);
    command.output().unwrap()
}

/// One run of the command, which must succeed.
fn mend(flock: &Flock, flags: &[&str]) -> Value {
    let mut arguments = vec!["keyspace", "mend-stamps", "default", "--json"];
    arguments.extend(flags);
    let output = dunlin(flock, &arguments);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn key(number: usize) -> String {
    format!("key {number}")
}

/// What each key held when the clocks were ahead; the last was deleted.
fn check_old(flock: &Flock, node: usize, rest: &str) {
    for number in 0..KEYS - 1 {
        let got = flock.nodes[node].get(&key(number), rest);
        assert_eq!(got.text(), format!("old {number}"), "{}", key(number));
    }
    assert_eq!(flock.nodes[node].get(&key(KEYS - 1), rest).status, 404);
    assert_eq!(flock.nodes[node].get("lonely", rest).text(), "of two");
}

/// A cluster whose clocks are right again.
fn aged() -> Flock {
    let mut flock = Flock::prepare(&[]);
    for node in &mut flock.nodes {
        node.is_ahead_70_years = true;
    }
    flock.up_all();
    for number in 0..KEYS {
        let put =
            flock.nodes[number % 3].put(&key(number), format!("old {number}").as_bytes(), "&ack=3");
        assert_eq!(put.status, 201, "{}", put.text());
    }
    let gone = flock.nodes[0].delete(&key(KEYS - 1), "&ack=3");
    assert_eq!(gone.status, 202, "{}", gone.text());
    flock.stop(2);
    let lonely = flock.nodes[0].put("lonely", b"of two", "&ack=2");
    assert_eq!(lonely.status, 201, "{}", lonely.text());
    flock.stop(0);
    flock.stop(1);
    for node in 0..3 {
        flock.nodes[node].is_ahead_70_years = false;
    }
    flock.up_all();
    for node in 0..3 {
        flock.ready(node);
    }
    flock
}

#[test]
fn what_is_stamped_far_ahead_is_mended_by_the_command() {
    let mut flock = aged();
    check_old(&flock, 0, "");
    // The write is refused, whoever takes it, and says what to do.
    for node in &flock.nodes {
        for number in [0, KEYS - 1] {
            let refused = node.put(&key(number), b"new", "");
            assert_eq!(refused.status, 504, "{}", refused.text());
            let line = refused.text();
            assert!(
                line.contains("dunlin keyspace mend-stamps default"),
                "{line}"
            );
        }
        assert_eq!(node.put("fresh", b"free", "").status, 201);
    }
    check_old(&flock, 1, "");

    let found = mend(&flock, &[]);
    assert_eq!(
        (&found["found"], &found["mended"], &found["left"]),
        (&FAR.into(), &0.into(), &FAR.into()),
        "{found}"
    );
    let ahead_ms = found["records"][0]["ahead_ms"].as_u64().unwrap();
    assert_eq!(ahead_ms / 86_400_000 / 365, 70);

    // It can be gone through in parts.
    let part = |from: &str| {
        let path = format!("/v1/keyspaces/default/mend-stamps{from}");
        let told = flock.nodes[1].request("GET", &path, b"").json();
        assert!(told["next"].is_null(), "{told}");
        told["found"].as_u64().unwrap() as usize
    };
    assert_eq!(part(""), FAR);
    assert_eq!(part("?from=0-"), FAR);
    assert!((1..FAR).contains(&part("?from=32-")));
    assert_eq!(part("?from=64-"), 0);
    let wrong = flock.nodes[1].request("GET", "/v1/keyspaces/default/mend-stamps?from=x", b"");
    assert_eq!(wrong.status, 400);

    // One that is away could hold what nobody else does.
    flock.kill(2);
    let output = dunlin(&flock, &["keyspace", "mend-stamps", "default", "--yes"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("n3") && told.contains("every member"),
        "{told}"
    );
    flock.up_all();
    flock.ready(2);

    let mended = mend(&flock, &["--yes"]);
    assert_eq!(
        (&mended["found"], &mended["mended"], &mended["left"]),
        (&FAR.into(), &FAR.into(), &0.into()),
        "{mended}"
    );
    assert_eq!(mend(&flock, &["--yes"])["found"], 0);
    for node in 0..3 {
        check_old(&flock, node, "&ack=3");
    }

    // Written over and over, through whichever node.
    for (node, number) in [(0, 0), (1, 0), (2, 0), (2, KEYS - 1), (1, 1)] {
        let value = format!("new by {node}");
        let put = flock.nodes[node].put(&key(number), value.as_bytes(), "&ack=3");
        assert_eq!(put.status, 201, "{}", put.text());
        let path = format!(
            "/v1/keyspaces/default/keys/{}",
            key(number).replace(' ', "%20")
        );
        let other = &flock.nodes[(node + 1) % 3];
        let swapped = other.wire().try_request("PUT", &path, b"swapped").unwrap();
        assert_eq!(swapped.status, 201, "{}", swapped.text());
        for node in &flock.nodes {
            assert_eq!(node.get(&key(number), "").text(), "swapped");
        }
    }
    assert_eq!(flock.nodes[1].delete(&key(1), "&ack=3").status, 202);

    // Stopped and killed, they apply their logs again.
    flock.kill(0);
    flock.stop(1);
    flock.kill(2);
    flock.up_all();
    let check_new = |flock: &Flock, node: usize, rest: &str| {
        for number in 0..KEYS {
            let got = flock.nodes[node].get(&key(number), rest);
            match number {
                1 => assert_eq!(got.status, 404, "{}", got.text()),
                _ if number == 0 || number == KEYS - 1 => assert_eq!(got.text(), "swapped"),
                _ => assert_eq!(got.text(), format!("old {number}")),
            }
        }
    };
    for node in 0..3 {
        flock.ready(node);
        check_new(&flock, node, "");
        let put = flock.nodes[node].put(&key(2), b"old 2", "&ack=3");
        assert_eq!(put.status, 201, "{}", put.text());
    }
    assert_eq!(mend(&flock, &[])["found"], 0);

    // One that lost its directory is given all of it, and answers alone.
    flock.stop(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    flock.up_all();
    flock.ready(2);
    check_new(&flock, 2, "&ack=1");
    let put = flock.nodes[2].put(&key(3), b"at last", "&ack=3");
    assert_eq!(put.status, 201, "{}", put.text());
}

#[test]
fn an_empty_node_cannot_be_filled_before_the_mend_and_says_why() {
    let mut flock = aged();
    flock.stop(2);
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    flock.up_all();
    let emptied = &flock.nodes[2];
    eventually("it names the command", SOON, || {
        emptied
            .output()
            .contains("dunlin keyspace mend-stamps default")
    });
    assert_eq!(emptied.request("GET", "/health/ready", b"").status, 503);
    check_old(&flock, 2, "");

    let mended = mend(&flock, &["--yes"]);
    assert_eq!(
        (&mended["found"], &mended["left"]),
        (&FAR.into(), &0.into()),
        "{mended}"
    );
    assert_eq!(mended["filling"][0], "n3", "{mended}");
    flock.ready(2);
    check_old(&flock, 2, "&ack=1");
    assert_eq!(mend(&flock, &[])["found"], 0);
    for node in &flock.nodes {
        assert_eq!(node.put(&key(0), b"new", "&ack=3").status, 201);
    }
}
