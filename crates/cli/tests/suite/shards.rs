//! How many shards a node has when nobody says.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::harness::child::{Process, dunlin};
use crate::harness::ports;
use crate::harness::wire::Wire;

/// A node that is alone; what the machine has decides how many shards.
fn serve(data: &Path, port: u16, more: &[&str]) -> Command {
    let mut command = dunlin();
    command
        .env_remove("DUNLIN_SHARDS")
        .args(["serve", "--name=n1", "--metadata=embedded", "--replicas=1"])
        .args(["--listen=127.0.0.1:0", &format!("--http=127.0.0.1:{port}")])
        .arg("--data")
        .arg(data)
        .args(more);
    command
}

fn shards_of(status: &[u8]) -> usize {
    let status: serde_json::Value = serde_json::from_slice(status).unwrap();
    status["shards"].as_array().unwrap().len()
}

/// How many shards it serves with, after `meanwhile`.
fn seen(data: &Path, port: u16, more: &[&str], meanwhile: impl FnOnce(&mut Wire)) -> usize {
    let log = data.with_extension("log");
    let mut process = Process::start(&mut serve(data, port, more), &log);
    crate::harness::eventually("it is ready", Duration::from_secs(30), || {
        let answer =
            Wire::try_open(port).and_then(|mut w| w.try_request("GET", "/health/ready", b""));
        answer.is_ok_and(|answer| answer.status == 200)
    });
    let mut wire = Wire::open(port);
    meanwhile(&mut wire);
    let status = wire.request("GET", "/v1/status", "");
    assert_eq!(process.stop(), Some(0), "{}", process.output());
    shards_of(&status.body)
}

#[test]
fn one_for_each_processor_and_as_many_as_ever_after() {
    let directory = tempfile::tempdir().unwrap();
    let port = ports::row(1);
    let processors = std::thread::available_parallelism().unwrap().get();
    let unasked = seen(&directory.path().join("a"), port, &[], |_| ());
    assert_eq!(unasked, processors.min(8));

    let data = directory.path().join("b");
    let path = "/v1/keyspaces/default/keys/dunlin";
    let asked = seen(&data, port, &["--shards=3"], |wire| {
        assert_eq!(wire.request("PUT", path, "a small wader").status, 201);
    });
    assert_eq!(asked, 3);
    let again = seen(&data, port, &[], |wire| {
        assert_eq!(wire.request("GET", path, "").body, b"a small wader");
    });
    assert_eq!(again, 3);

    let Output { status, stderr, .. } = serve(&data, port, &["--shards=2"]).output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(!status.success());
    assert!(stderr.contains("leave --shards out"), "{stderr}");
}
