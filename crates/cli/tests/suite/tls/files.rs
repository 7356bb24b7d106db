//! Files that are wrong at the start, and doors that stand open.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::authority::Authority;
use crate::harness::child::{Process, dunlin};
use crate::harness::secure::{Said, run, text};
use crate::harness::{eventually, ports};

fn serve(folder: &Path, http: &str, flags: &[&str]) -> std::process::Command {
    let mut command = dunlin();
    command
        .args([
            "serve",
            "--name",
            "alone",
            "--metadata",
            "embedded",
            "--data",
        ])
        .arg(folder.join("data"))
        .args(["--replicas", "1", "--http", http])
        .args(["--listen", "127.0.0.1:0"])
        .args(flags);
    command
}

#[test]
fn what_is_wrong_is_said_before_anything_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let authority = Authority::new();
    let pair = authority.pair(folder, "a", &["localhost"], 2120);
    let other = authority.pair(folder, "b", &["localhost"], 2120);
    let (certificate, key) = (text(&pair.certificate), text(&pair.key));
    let (other_key, missing) = (text(&other.key), text(&folder.join("missing")));
    let try_it = |certificate: &str, more: &[&str]| -> Said {
        let flags = [&["--http-tls-cert", certificate], more].concat();
        run(&mut serve(folder, "127.0.0.1:0", &flags))
    };
    for (certificate, more, words) in [
        (
            &certificate,
            &[][..],
            "--http-tls-cert goes with --http-tls-key",
        ),
        (
            &certificate,
            &["--http-tls-key", &other_key],
            "does not belong to the first certificate",
        ),
        (&certificate, &["--http-tls-key", &missing], "No such file"),
        (
            &certificate,
            &["--http-tls-key", &certificate],
            "BEGIN PRIVATE KEY",
        ),
        (&key, &["--http-tls-key", &key], "BEGIN CERTIFICATE"),
        (
            &certificate,
            &["--http-tls-key", &key, "--http-tls-client-ca", &key],
            "CA file",
        ),
    ] {
        let line = try_it(certificate, more).refused(2);
        assert!(line.contains(words), "{line}");
    }
    assert!(!folder.join("data").exists());
}

#[test]
fn what_others_can_reach_or_read_is_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let pair = Authority::new().pair(folder, "a", &["localhost"], 2001);
    std::fs::set_permissions(&pair.key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let all = format!("0.0.0.0:{}", ports::row(1));
    let loopback = "127.0.0.1:0";
    let (certificate, key) = (text(&pair.certificate), text(&pair.key));
    let tls = ["--http-tls-cert", &certificate, "--http-tls-key", &key];
    for (http, flags, told, untold) in [
        (loopback, &[][..], &[][..], "is not encrypted"),
        (
            &all,
            &[],
            &[
                "is not encrypted",
                "give dunlin serve a certificate (--http-tls-cert, --http-tls-key)",
            ],
            "chmod",
        ),
        (
            &all,
            &tls,
            &["chmod 600", "expired on 2001-01-01"],
            "is not encrypted",
        ),
    ] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command = serve(folder, http, flags);
        let mut node = Process::start(&mut command, log.path());
        eventually("it serves", std::time::Duration::from_secs(30), || {
            assert!(node.is_running(), "{}", node.output());
            let output = node.output();
            output.contains("alone serves http") && told.iter().all(|words| output.contains(words))
        });
        node.stop();
        let output = node.output();
        for words in told {
            assert_eq!(output.matches(words).count(), 1, "{words} in {output}");
        }
        assert!(!output.contains(untold), "{output}");
    }
}
