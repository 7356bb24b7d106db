//! put, get, delete, scan against a store in memory: bytes in and out, exit codes, JSON.

use crate::support::store::Store;
use crate::support::{run, run_with_input};

#[test]
fn bytes_come_back_as_they_went_in() {
    let store = Store::start();
    let server = store.url.as_str();
    let value = b"\x00\xff two\nlines\r\n";
    run_with_input(&["put", "k", "--server", server], value).ok();
    assert_eq!(run(&["get", "k", "--server", server]).ok().stdout, value);
    let json = run(&["get", "k", "--json", "--server", server]).ok().json();
    assert_eq!(
        (json["key"].as_str(), json["value_base64"].as_str()),
        (Some("k"), Some("AP8gdHdvCmxpbmVzDQo="))
    );

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("v");
    std::fs::write(&file, "from a file").unwrap();
    run(&[
        "put",
        "f",
        "--file",
        file.to_str().unwrap(),
        "--server",
        server,
    ])
    .ok();
    assert_eq!(store.value("f").unwrap(), "from a file");
    run(&["put", "empty", "", "--server", server]).ok();
    assert_eq!(run(&["get", "empty", "--server", server]).ok().stdout, b"");
    let ended = run(&["put", "f", "--file", "/nonexistent", "--server", server]);
    assert!(
        ended.complaint(1).starts_with("/nonexistent: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_is_not_there_is_code_3() {
    let store = Store::start();
    let ended = run(&["get", "no\nkey", "--server", &store.url]);
    assert_eq!(ended.complaint(3), "key \"no\\nkey\" has no value");
    assert!(ended.stdout.is_empty());
    run(&["put", "k", "v", "--server", &store.url]).ok();
    run(&["delete", "k", "--server", &store.url]).ok();
    run(&["delete", "k", "--server", &store.url]).ok();
    assert_eq!(run(&["get", "k", "--server", &store.url]).code, 3);
    assert_eq!(
        run(&["keyspace", "describe", "unknown", "--server", &store.url]).code,
        3
    );
    assert_eq!(
        run(&["keyspace", "drop", "unknown", "--server", &store.url]).code,
        3
    );
}

#[test]
fn a_condition_that_does_not_hold_is_a_failure() {
    let store = Store::start();
    let server = store.url.as_str();
    let version = run(&["put", "k", "1", "--if-absent", "--server", server])
        .ok()
        .text()
        .trim()
        .to_owned();
    assert!(
        run(&["put", "k", "2", "--if-absent", "--server", server])
            .complaint(1)
            .contains("another version")
    );
    let json = run(&[
        "put",
        "k",
        "3",
        "--if-version",
        &version,
        "--json",
        "--server",
        server,
    ])
    .ok()
    .json();
    assert_ne!(json["version"], version.as_str());
    assert_eq!(
        run(&[
            "put",
            "k",
            "4",
            "--if-version",
            &version,
            "--server",
            server
        ])
        .code,
        1
    );
    assert_eq!(store.value("k").unwrap(), "3");
}

#[test]
fn replicas_and_keyspace_reach_the_server() {
    let store = Store::start();
    run(&[
        "put",
        "k",
        "v",
        "-k",
        "birds",
        "--ack",
        "1",
        "--from",
        "2",
        "--expires-in",
        "9",
        "--server",
        &store.url,
    ])
    .ok();
    assert_eq!(
        store.requests(),
        ["PUT /v1/keyspaces/birds/keys/k?ack=1&from=2&expires_in=9"]
    );
}

#[test]
fn a_scan_is_lines_and_a_reader_that_leaves_is_no_failure() {
    let store = Store::start();
    for number in 0..3000 {
        let value = bytes::Bytes::from(vec![b'x'; 100]);
        store
            .inner
            .lock()
            .unwrap()
            .values
            .insert(format!("k{number:04}").into_bytes(), (number, value));
    }
    let ended = run(&["scan", "--server", &store.url]).ok();
    assert_eq!(ended.text().lines().count(), 3000);
    assert_eq!(
        ended.text().lines().next().unwrap(),
        format!("k0000\t{}", "x".repeat(100))
    );
    let json: serde_json::Value = serde_json::from_str(
        run(&["scan", "--json", "--server", &store.url])
            .ok()
            .text()
            .lines()
            .nth(7)
            .unwrap(),
    )
    .unwrap();
    assert_eq!(
        (json["key"].as_str(), json["version"].as_str()),
        (Some("k0007"), Some("7"))
    );

    let mut child = crate::support::dunlin(&["scan", "--server", &store.url])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}
