#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::path::Path;
use std::time::{Duration, Instant};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn dropping_ends_the_process_even_when_it_ignores_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut server = Server::spawn("s", shell("trap '' TERM INT; sleep 60 & wait"), log).unwrap();
    server.check().unwrap();
    let proc = format!("/proc/{}", server.pid());
    assert!(Path::new(&proc).exists());
    drop(server);
    assert!(!Path::new(&proc).exists());
}

#[test]
fn an_ended_server_is_reported_with_the_end_of_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let script = "seq 1 50; echo port in use >&2; exit 3";
    let mut server = Server::spawn("node 1", shell(script), log).unwrap();
    let start = Instant::now();
    let error = loop {
        match server.check() {
            Ok(()) => assert!(start.elapsed() < Duration::from_secs(10)),
            Err(error) => break error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(error.contains("node 1 ended (exit status: 3)"), "{error}");
    assert!(error.ends_with("50\nport in use"), "{error}");
    assert!(!error.contains("\n30\n"), "{error}");
}

#[test]
fn a_missing_program_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let command = Command::new("/no/such/dunlin");
    let error = Server::spawn("x", command, directory.path().join("log")).unwrap_err();
    assert!(error.to_string().contains("/no/such/dunlin"), "{error}");
}

#[test]
fn a_server_that_is_asked_ends_in_order_or_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for (status, is_well) in [(0, true), (4, false)] {
        let log = directory.path().join("log");
        let script = format!("trap 'exit {status}' TERM; echo ready; while :; do sleep 0.01; done");
        let mut server = Server::spawn("s", shell(&script), log.clone()).unwrap();
        while fs::read(&log).unwrap().is_empty() {
            assert!(!server.has_ended().unwrap());
        }
        server.ask_to_end().unwrap();
        let ended = loop {
            match server.has_ended() {
                Ok(false) => std::thread::sleep(Duration::from_millis(5)),
                ended => break ended,
            }
        };
        assert_eq!(ended.is_ok(), is_well, "{ended:?}");
    }
}
