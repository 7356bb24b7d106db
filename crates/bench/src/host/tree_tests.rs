#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn descendants_are_found_and_their_memory_added() {
    let mut shell = Command::new("sh")
        .args(["-c", "sh -c 'echo yes; read line' & echo no; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let mut alone = Peak::default();
    alone
        .by_pid
        .extend(peak_bytes(shell.id()).map(|bytes| (shell.id(), bytes)));
    // The background one reads from /dev/null, but it has been there.
    let mut both = Peak::default();
    both.look(shell.id());
    both.look(shell.id());
    assert!(alone.bytes() > 100_000 && both.bytes() >= alone.bytes());
    assert!(of(std::process::id()).contains(&shell.id()));
    shell.stdin.take().unwrap().write_all(b"\n").unwrap();
    shell.wait().unwrap();
    assert!(!of(std::process::id()).contains(&shell.id()));
}

#[test]
fn of_one_that_has_ended_nothing_is_known() {
    let mut peak = Peak::default();
    peak.look(u32::MAX);
    assert_eq!(peak.bytes(), 0);
}
