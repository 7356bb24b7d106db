//! The command line over TLS, and what it says when something is in the way.

use std::io::Write;
use std::process::Stdio;

use rocksdb::DB;

use crate::harness::authority::{Authority, write};
use crate::harness::child::dunlin;
use crate::harness::secure::{Secure, run, text};
use crate::harness::up::Up;

#[test]
fn transactions_without_http_between_go_over_tls() {
    let node = Secure::start(&[]);
    let create = ["keyspace", "create", "bank", "--mode", "transactional"];
    node.dunlin(&[&create[..], &["--replicas", "1"]].concat())
        .ok();
    let script = node.folder().join("script");
    std::fs::write(&script, "put bank ann 90\ncommit\nget bank ann\ncommit\n").unwrap();
    let done = node.dunlin(&["txn", &text(&script), "--direct"]).ok();
    assert_eq!(done.trim(), "90");
}

#[test]
fn every_command_takes_https() {
    let node = Secure::start(&[]);
    let file = node.folder().join("value");
    std::fs::write(&file, "a small wader").unwrap();
    node.dunlin(&["put", "dunlin", "--file", &text(&file)]).ok();
    assert_eq!(node.dunlin(&["get", "dunlin"]).ok(), "a small wader");
    let scanned = node.dunlin(&["scan", "--json"]).ok();
    assert!(scanned.contains("dunlin"), "{scanned}");
    node.dunlin(&["keyspace", "create", "birds", "--replicas", "1"])
        .ok();
    assert!(
        node.dunlin(&["keyspace", "list", "--json"])
            .ok()
            .contains("birds")
    );
    let listed = node.dunlin(&["node", "list"]).ok();
    assert!(listed.contains(&node.url("")), "{listed}");
    assert!(
        node.dunlin(&["metadata", "show", "--json"])
            .ok()
            .contains("https://127.0.0.1")
    );
    let lines = node.folder().join("birds.jsonl");
    let mut records = std::fs::File::create(&lines).unwrap();
    for number in 0..500 {
        writeln!(records, "{{\"key\":\"k{number}\",\"value\":\"v\"}}").unwrap();
    }
    node.dunlin(&[
        "import",
        &text(&lines),
        "--keyspace",
        "birds",
        "--format",
        "jsonl",
        "--key",
        "key",
    ])
    .ok();

    let source = node.folder().join("source");
    let db = DB::open_default(&source).unwrap();
    for number in 0..3_000_u32 {
        db.put(number.to_be_bytes(), [7; 100]).unwrap();
    }
    drop(db);
    node.dunlin(&["keyspace", "create", "copied", "--replicas", "1"])
        .ok();
    let target = node.url("/copied");
    let copied = node
        .dunlin(&["copy", &text(&source), &target, "--json"])
        .ok();
    assert!(copied.contains("\"pairs\":3000"), "{copied}");
    node.dunlin(&["copy", &text(&source), &target, "--verify-only"])
        .ok();
    let mut lost = dunlin();
    let lost = run(lost.args(["copy", &text(&source), &target, "--retry-for", "5s"]));
    let line = lost.refused(1);
    assert!(line.contains("--tls-ca"), "{line}");
    node.dunlin(&["delete", "dunlin"]).ok();
    assert_eq!(node.dunlin(&["get", "dunlin"]).code, Some(3));
}

#[test]
fn what_is_in_the_way_is_one_line_that_says_what_to_do() {
    let node = Secure::start(&[]);
    let https = node.url("");
    let get = |flags: &[&str]| run(dunlin().args(["get", "k"]).args(flags));
    let ca = text(&node.ca);
    let stranger = Authority::new();
    let other_ca = text(&stranger.file(node.folder(), "other.pem"));
    let up = Up::nodes(1);
    let in_the_clear = up.url(0, "").replace("http://", "https://");
    let missing = text(&node.folder().join("missing.pem"));
    for (flags, code, words) in [
        (
            &["--server", &https, "--tls-ca", &ca][..],
            3,
            "has no value",
        ),
        (
            &["--server", &https],
            1,
            "name the file of its CA (--tls-ca)",
        ),
        (
            &["--server", &https, "--tls-ca", &other_ca],
            1,
            "name the file of its CA",
        ),
        (
            &["--server", &https, "--tls-ca", &missing],
            2,
            "No such file",
        ),
        (
            &["--server", &https, "--tls-cert", &ca],
            2,
            "--tls-cert goes with --tls-key",
        ),
        (
            &[
                "--server",
                &https,
                "--tls-ca",
                &ca,
                "--tls-cert",
                &ca,
                "--tls-key",
                &ca,
            ],
            2,
            "BEGIN PRIVATE KEY",
        ),
        (
            &["--server", &in_the_clear, "--tls-ca", &ca],
            1,
            "does not speak TLS: use http://",
        ),
        (
            &["--server", &https.replace("https", "http")],
            1,
            "this port speaks TLS: use https://",
        ),
        (
            &["--server", "https://ann:sesame@localhost:1"],
            2,
            "password does not belong in it",
        ),
    ] {
        let line = get(flags).refused(code);
        assert!(line.contains(words), "{flags:?} gave {line}");
        assert!(!line.contains("sesame"), "{line}");
    }
    let source = node.folder().join("none");
    let target = "https://ann:sesame@localhost:1/birds";
    let line = run(dunlin().args(["copy", &text(&source), target])).refused(2);
    assert!(!line.contains("sesame"), "{line}");
    let line = run(dunlin().args(["get", "k", "--server", "http://ann:ses ame@h"])).refused(2);
    assert!(!line.contains("ses"), "{line}");
}

#[test]
fn certificates_for_other_names_and_times_are_refused() {
    let node = Secure::start(&[]);
    let (certificate, key) = node.authority.sign(&["n1.example"], 2120);
    write(node.folder(), "server.key", &key);
    write(node.folder(), "server.pem", &certificate);
    let refused = |words: &str| {
        crate::harness::eventually(words, std::time::Duration::from_secs(15), || {
            let said = node.dunlin(&["status"]);
            said.code == Some(1) && said.err.contains(words)
        });
    };
    refused("its certificate is for n1.example: reach it by one of these names");
    let (certificate, key) = node.authority.sign(crate::harness::secure::NAMES, 2001);
    write(node.folder(), "server.key", &key);
    write(node.folder(), "server.pem", &certificate);
    refused("its certificate has expired");
    let output = node.process.output();
    assert!(
        output.contains("expired on 2001-01-01 00:00:00 UTC: clients refuse it, renew it"),
        "{output}"
    );
}

#[test]
fn who_must_show_a_certificate_does() {
    let node = Secure::mutual();
    let folder = node.folder();
    let get = |flags: &[&str]| node.dunlin(&[&["get", "k"], flags].concat());
    let known = (
        text(&folder.join("client.pem")),
        text(&folder.join("client.key")),
    );
    let known = ["--tls-cert", &known.0, "--tls-key", &known.1];
    for _ in 0..5 {
        let line = get(&[]).refused(1);
        assert!(
            line.contains("name one (--tls-cert and --tls-key)"),
            "{line}"
        );
        assert!(get(&known).refused(3).contains("has no value"));
    }
    let stranger = Authority::new().pair(folder, "stranger", &["somebody"], 2120);
    let (certificate, key) = (text(&stranger.certificate), text(&stranger.key));
    let line = get(&["--tls-cert", &certificate, "--tls-key", &key]).refused(1);
    assert!(
        line.contains("refuses the certificate that it was shown"),
        "{line}"
    );
    // What cannot be sent twice is refused as clearly.
    let put = ["put", "k", "--if-absent"];
    let mut command = dunlin();
    command
        .env("DUNLIN_SERVER", node.url(""))
        .env("DUNLIN_TLS_CA", &node.ca)
        .stdin(Stdio::null());
    let line = run(command.args(put)).refused(1);
    assert!(line.contains("--tls-cert"), "{line}");
    assert!(node.metric("dunlin_tls_handshakes_failed_total") >= 7.0);
}
