//! `dunlin receive --secret-file` takes copies from those who know the secret, and from nobody else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::copy_support::{assert_unusable, content, db_bench};
use crate::harness::child::{Process, dunlin};
use crate::harness::{eventually, ports};
use crate::support::run;

const SOON: Duration = Duration::from_secs(30);
const OURS: &str = "9c02-the-secret-of-our-machines";
const THEIRS: &str = "51ab-the-secret-of-others";

/// Starts a receiver with these arguments, and waits until it listens.
fn receive(arguments: &[&str], directory: &Path, log: &Path) -> Process {
    let process = Process::start(dunlin().arg("receive").args(arguments).arg(directory), log);
    eventually("the receiver listens", SOON, || {
        process.output().contains("receiving into")
    });
    process
}

#[test]
fn only_who_knows_the_secret_copies() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let shown = |name: &str| path(name).to_string_lossy().into_owned();
    db_bench(
        &path("source"),
        &[
            "--benchmarks=fillrandom",
            "--num=2000",
            "--compression_type=none",
        ],
    );
    for (name, secret) in [("ours", OURS), ("theirs", THEIRS)] {
        std::fs::write(path(name), secret).unwrap();
    }
    let address = format!("127.0.0.1:{}", ports::row(1));
    let guarded = ["--listen", &address, "--secret-file", &shown("ours")];
    let receiver = receive(&guarded, &path("target"), &path("log"));
    let copy = |more: &[&str]| {
        let source = shown("source");
        run(&[
            &["copy", &source, &address, "--retry-for", "2s", "--quiet"],
            more,
        ]
        .concat())
    };
    for (more, words) in [
        (
            vec![],
            "the other side asks for a secret: start this side with --secret-file",
        ),
        (
            vec!["--secret-file".to_owned(), shown("theirs")],
            "does not know the secret of this side",
        ),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let ended = copy(&more);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    // A stranger: a hello and a frame behind it; nothing of it is answered but that a secret is due.
    let mut stranger = TcpStream::connect(&address).unwrap();
    stranger.set_read_timeout(Some(SOON)).unwrap();
    let mut hello = b"DNCP\x01\0\0\0".to_vec();
    hello.extend_from_slice(&crc32c::crc32c(&hello).to_le_bytes());
    stranger.write_all(&hello).unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert_eq!(&answer[..8], b"DNCP\x01\0\x02\0");
    assert!(
        !path("target").exists(),
        "something was written for a stranger"
    );

    let ended = copy(&["--secret-file", &shown("ours")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(content(&path("source")), content(&path("target")));
    let verified = copy(&["--secret-file", &shown("ours"), "--verify-only"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let output = receiver.output();
    assert!(
        output.contains("it proves no secret") && output.contains("its secret is not known here"),
        "{output}"
    );
    assert!(
        !output.contains(OURS) && !output.contains(THEIRS),
        "{output}"
    );
}

#[test]
fn a_secret_on_one_side_alone_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let shown = |name: &str| path(name).to_string_lossy().into_owned();
    db_bench(&path("source"), &["--benchmarks=fillrandom", "--num=100"]);
    std::fs::write(path("ours"), OURS).unwrap();
    let port = ports::row(1);
    let receiver = receive(
        &["--listen", &format!("0.0.0.0:{port}")],
        &path("target"),
        &path("log"),
    );
    let words = format!(
        "the port for copies 0.0.0.0:{port} lets in everybody who reaches it: give both sides a secret (--secret-file"
    );
    assert!(receiver.output().contains(&words), "{}", receiver.output());
    let (source, secret) = (shown("source"), shown("ours"));
    let address = format!("127.0.0.1:{port}");
    let ended = run(&[
        "copy",
        &source,
        &address,
        "--secret-file",
        &secret,
        "--quiet",
    ]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("the other side has no secret"),
        "{}",
        ended.stderr
    );
    assert_unusable(&path("target"));
    let ended = run(&[
        "copy",
        &source,
        &shown("elsewhere"),
        "--secret-file",
        &secret,
    ]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("--secret-file is for HOST:PORT"),
        "{}",
        ended.stderr
    );
}

#[test]
fn strangers_that_say_nothing_do_not_keep_a_copy_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let shown = |name: &str| path(name).to_string_lossy().into_owned();
    db_bench(&path("source"), &["--benchmarks=fillrandom", "--num=2000"]);
    std::fs::write(path("ours"), OURS).unwrap();
    let address = format!("127.0.0.1:{}", ports::row(1));
    let guarded = ["--listen", &address, "--secret-file", &shown("ours")];
    let receiver = receive(&guarded, &path("target"), &path("log"));
    let connect = |_| TcpStream::connect(&address).unwrap();
    let silent: Vec<TcpStream> = (0..100).map(connect).collect();
    let source = shown("source");
    let copy = ["copy", &source, &address, "--quiet", "--secret-file"];
    let ended = run(&[&copy[..], &[&shown("ours")]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(content(&path("source")), content(&path("target")));
    let output = receiver.output();
    let told = output.matches("the oldest was closed").count();
    assert_eq!(told, 1, "{output}");
    drop(silent);
}
