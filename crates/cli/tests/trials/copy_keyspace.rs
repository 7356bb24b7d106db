//! `dunlin copy` into a keyspace of a running cluster, read back by an independent scan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::copy_support::keyspace::{PAIRS, body, bulk, create, key, scan};
use crate::copy_support::{content, db_bench};
use crate::harness::child::{Process, dunlin};
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;
use crate::support::{Ended, run};
use rocksdb::DB;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Overwritten and deleted, over several tables and levels.
fn made(path: &Path, more: &[&str]) -> Pairs {
    let arguments = [
        "--benchmarks=fillrandom,overwrite,deleterandom",
        "--num=20000",
        "--compression_type=none",
        "--write_buffer_size=400000",
    ];
    db_bench(path, &[&arguments[..], more].concat());
    let pairs = content(path).remove("default").unwrap();
    assert!(pairs.len() > 1_000);
    pairs
}

fn copy(source: &Path, target: &str, more: &[&str]) -> Ended {
    let arguments = ["copy", source.to_str().unwrap(), target];
    run(&[&arguments[..], more].concat())
}

fn left_behind(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("dunlin-copy"))
        .collect()
}

fn insert(path: &Path, pairs: &[(&[u8], &[u8])]) {
    let db = DB::open_default(path).unwrap();
    for (key, value) in pairs {
        db.put(key, value).unwrap();
    }
}

#[test]
fn a_database_of_db_bench_becomes_a_keyspace_and_is_compared() {
    let up = Up::nodes(3);
    let port = up.ports[1];
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let expected = made(&source, &[]);
    create(port, "birds", 3);
    let target = up.url(0, "/birds");
    let report = directory.path().join("report");
    let copied = copy(
        &source,
        &format!("{},{target}", up.url(2, "")),
        &[
            "--json",
            "--range-size=256KiB",
            "--mode=insert",
            "--report",
            report.to_str().unwrap(),
        ],
    )
    .ok();
    assert_eq!(copied.stderr, "");
    let json = copied.json();
    assert_eq!(json["pairs"], expected.len());
    let bytes: usize = expected
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    assert_eq!(json["bytes"], bytes);
    // How many there are depends on when RocksDB compacted.
    assert!(json["units"].as_u64().unwrap() > 1, "{json}");
    // Sending and comparing are told apart.
    assert_eq!(json["verified"], "pairs", "{json}");
    let compared = &json["compared"];
    assert_eq!(
        (&compared["pairs"], &compared["bytes"]),
        (&json["pairs"], &json["bytes"])
    );
    assert!(compared["duration_s"].as_f64().unwrap() > 0.0, "{json}");
    assert_eq!(json["finish_s"], 0.0);
    assert!(report.join("copy.svg").exists());
    assert!(scan(port, "birds") == expected);
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());

    let verify = |more: &[&str]| {
        let arguments = [&["--verify-only", "--quiet", "--range-size=256KiB"], more].concat();
        copy(&source, &target, &arguments)
    };
    // One copy each: most pairs belong to other nodes than the one that is asked.
    create(port, "single", 1);
    copy(&source, &up.url(0, "/single"), &["--quiet"]).ok();
    assert!(scan(port, "single") == expected);

    let equal = copy(&source, &target, &["--verify-only", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&equal["pairs"], &equal["checksum"]),
        (&json["pairs"], &json["checksum"])
    );

    // One more, one other, one less: each is found and named.
    let (first, value) = expected.iter().next().unwrap();
    let named = first.escape_ascii().to_string();
    assert_eq!(key(port, "PUT", "birds", b"zzz", b"more").status, 201);
    let said = verify(&[]);
    assert!(
        said.complaint(1).contains("has besides the key zzz"),
        "{}",
        said.stderr
    );
    verify(&["--merge"]).ok();
    assert_eq!(key(port, "PUT", "birds", first, b"other").status, 201);
    let said = verify(&["--merge"]);
    assert!(
        said.complaint(1)
            .contains(&format!("has another value for the key {named}"))
    );
    assert_eq!(key(port, "DELETE", "birds", first, b"").status, 202);
    let said = verify(&["--merge"]);
    assert!(
        said.complaint(1)
            .contains(&format!("lacks the key {named}")),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("differ in 1 of"), "{}", said.stderr);

    // Only --merge writes to what is not empty; what else is there stays.
    let said = copy(&source, &target, &["--quiet"]);
    assert!(
        said.complaint(1)
            .contains("is not empty; --merge adds to it")
    );
    copy(&source, &target, &["--quiet", "--merge"]).ok();
    let mut both = expected.clone();
    both.insert(b"zzz".to_vec(), b"more".to_vec());
    assert_eq!(both[first], *value);
    assert!(scan(port, "birds") == both);
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());
}

#[test]
fn one_column_family_is_copied_and_what_does_not_fit_is_refused() {
    let up = Up::nodes(1);
    let port = up.ports[0];
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    made(&source, &["--num_column_families=3", "--partition_index=1"]);
    let families = content(&source);
    let other = families.keys().find(|name| *name != "default").unwrap();
    create(port, "birds", 1);
    create(port, "others", 1);
    let target = up.url(0, "/birds");
    let refused = |target: &str, arguments: &[&str], code: i32, words: &str| {
        let said = copy(&source, target, &[&["--quiet"], arguments].concat());
        assert!(said.complaint(code).contains(words), "{}", said.stderr);
    };
    refused(
        &up.url(0, "/nope"),
        &[],
        3,
        "dunlin keyspace create nope --server http://127",
    );
    refused(&up.url(0, ""), &[], 2, "names no keyspace");
    refused(
        "ftp://127.0.0.1:1/birds",
        &[],
        2,
        "the scheme is http or https",
    );
    refused(&target, &["--mode=files"], 1, "--mode files does not apply");
    refused(
        &target,
        &["--mode=ingest"],
        1,
        "--mode ingest does not apply",
    );
    refused(&target, &["--replace"], 1, "--replace does not apply");
    refused(
        &target,
        &["--no-verify", "--verify-only"],
        2,
        "cannot be used with",
    );
    refused(&target, &["--compress=lz4"], 1, "--compress does not apply");
    refused(
        &target,
        &["--cf=default", "--cf", other],
        1,
        "takes one column family",
    );
    refused(&target, &["--cf=nope"], 1, "no column family \"nope\"");
    let nobody = format!("http://127.0.0.1:{}/birds", crate::harness::ports::row(1));
    refused(&nobody, &["--retry-for=1s"], 1, "cannot reach");
    assert!(scan(port, "birds").is_empty());
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());

    let said = copy(&source, &target, &[]).ok();
    assert!(
        said.stderr.contains("these are left out: "),
        "{}",
        said.stderr
    );
    assert!(scan(port, "birds") == families["default"]);
    copy(&source, &up.url(0, "/others"), &["--quiet", "--cf", other]).ok();
    assert!(scan(port, "others") == families[other]);
    // A directory may not be merged into in a comparison.
    let database = directory.path().join("directory");
    let said = copy(
        &source,
        database.to_str().unwrap(),
        &["--verify-only", "--merge"],
    );
    assert!(said.complaint(1).contains("for keyspaces alone"));
    // Nor is there anything to leave out: its ranges are compared as they arrive.
    for nowhere in [database.to_str().unwrap(), "127.0.0.1:1"] {
        let said = copy(&source, nowhere, &["--no-verify", "--quiet"]);
        assert!(
            said.complaint(1).contains("--no-verify does not apply"),
            "{}",
            said.stderr
        );
    }
    assert!(!database.exists());
}

/// The lines about progress of a process, by the step that they name.
fn lines(output: &str, step: &str) -> Vec<String> {
    let of_step = |line: &&str| line.contains(&format!(" s: {step} "));
    output.lines().filter(of_step).map(str::to_owned).collect()
}

#[test]
fn sending_and_comparing_are_told_apart_and_comparing_may_be_left_out() {
    let up = Up::nodes(1);
    let port = up.ports[0];
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let expected = made(&source, &["--num=200000"]);
    create(port, "birds", 1);
    create(port, "others", 1);
    let more = ["--interval=10ms", "--range-size=1MiB", "--connections=1"];
    let said = copy(&source, &up.url(0, "/birds"), &more).ok();
    let (before, after) = said
        .stderr
        .split_once("all is sent; comparing source and keyspace")
        .unwrap_or_else(|| panic!("{}", said.stderr));
    // Comparing may be done before it is time for a line.
    assert!(!lines(before, "sending").is_empty(), "{}", said.stderr);
    assert!(lines(before, "comparing").is_empty(), "{}", said.stderr);
    assert!(lines(after, "sending").is_empty(), "{}", said.stderr);
    let text = said.text();
    assert!(text.starts_with("copied: "), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("equal: ") && last.ends_with("(source and keyspace compared)"),
        "{text}"
    );
    let verified = copy(
        &source,
        &up.url(0, "/birds"),
        &[&["--verify-only"], &more[..]].concat(),
    )
    .ok();
    assert!(
        lines(&verified.stderr, "sending").is_empty(),
        "{}",
        verified.stderr
    );

    let target = up.url(0, "/others");
    let said = copy(&source, &target, &[&["--no-verify"], &more[..]].concat()).ok();
    assert!(!said.stderr.contains("compar"), "{}", said.stderr);
    let text = said.text();
    assert!(
        text.starts_with("copied: ") && text.ends_with("nothing was compared (--no-verify)\n"),
        "{text}"
    );
    assert!(scan(port, "others") == expected);
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());
    // What others wrote is found by nobody then, but by who compares later.
    let first = expected.keys().next().unwrap();
    assert_eq!(key(port, "DELETE", "others", first, b"").status, 202);
    let said = copy(&source, &target, &["--verify-only", "--quiet"]);
    assert!(
        said.complaint(1).contains("lacks the key"),
        "{}",
        said.stderr
    );
    let json = copy(&source, &target, &["--merge", "--no-verify", "--json"]);
    let json = json.ok().json();
    assert_eq!(json["verified"], "nothing", "{json}");
    assert!(json["compared"].is_null(), "{json}");
    assert!(scan(port, "others") == expected);
}

#[test]
fn a_keyspace_of_many_slices_is_compared_while_others_write() {
    let up = Up::nodes(3);
    let port = up.ports[0];
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    // Pages of few pairs, each from many slices.
    let more = ["--num=6000", "--value_size=10000"];
    let expected = made(&source, &more);
    let body = r#"{"name":"birds","sync":"never","partitions":512}"#;
    let answer = Wire::open(port).request("POST", "/v1/keyspaces", body);
    assert_eq!(answer.status, 201, "{answer:?}");
    create(port, "noise", 3);
    let target = up.url(0, "/birds");
    copy(&source, &target, &["--quiet", "--no-verify"]).ok();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for name in ["noise", "birds"] {
                    assert_eq!(key(port, "PUT", name, b"zzz", b"more").status, 201);
                }
            }
        });
        let said = copy(&source, &target, &["--verify-only", "--merge", "--json"]);
        ended.store(true, Ordering::Relaxed);
        assert_eq!(said.ok().json()["pairs"], expected.len());
    });
    // What has come of it is told.
    let said = copy(&source, &target, &["--verify-only", "--quiet"]);
    let complaint = said.complaint(1);
    assert!(complaint.contains("has besides the key zzz"), "{complaint}");
}

#[test]
fn keys_and_values_that_no_keyspace_takes_are_named() {
    let up = Up::nodes(1);
    let port = up.ports[0];
    let directory = tempfile::tempdir().unwrap();
    create(port, "birds", 1);
    let target = up.url(0, "/birds");

    let empty = directory.path().join("empty");
    insert(&empty, &[(b"", b"value"), (b"a", b"b")]);
    let said = copy(&empty, &target, &["--quiet"]);
    assert!(
        said.complaint(1)
            .contains("family default: the key  is empty"),
        "{}",
        said.stderr
    );
    assert!(scan(port, "birds").is_empty());

    let long = directory.path().join("long");
    let key = [b"m".repeat(65_536), b"n".repeat(65_537)];
    insert(
        &long,
        &[(b"a", b"1"), (&key[0], b"2"), (&key[1], b"3"), (b"z", b"4")],
    );
    let said = copy(&long, &target, &["--quiet"]);
    let complaint = said.complaint(1);
    assert!(
        complaint.contains("birds is partial, 0 of 1 units are there"),
        "{complaint}"
    );
    assert!(complaint.contains("nnn.. has 65537 bytes"), "{complaint}");
    let said = copy(&long, &target, &["--verify-only", "--quiet"]);
    assert!(
        said.complaint(1).contains("is partial: 0 of 1 units"),
        "{}",
        said.stderr
    );

    // A value above --max-body, 16 MiB unless told otherwise, with small ones on both sides.
    create(port, "large", 1);
    let large = directory.path().join("large");
    let value = vec![b'v'; 64_000_000];
    insert(&large, &[(b"a", b"1"), (b"m", &value), (b"z", b"2")]);
    let target = up.url(0, "/large");
    let said = copy(&large, &target, &["--quiet", "--retry-for=2s"]);
    let complaint = said.complaint(1);
    assert!(
        complaint.contains("the key m has a value of 64000000 bytes"),
        "{complaint}"
    );
    assert!(complaint.contains("is partial, 0 of 1"), "{complaint}");

    let larger = Up::with(1, &["--max-body=64MiB"]);
    let port = larger.ports[0];
    create(port, "large", 1);
    copy(&large, &larger.url(0, "/large"), &["--quiet"]).ok();
    let answer = crate::copy_support::keyspace::key(port, "GET", "large", b"m", b"");
    assert!(answer.body == value);
    assert_eq!(scan(port, "large").len(), 3);
}

#[test]
fn bodies_are_made_smaller_for_nodes_that_take_little() {
    let up = Up::with(1, &["--max-body=1000"]);
    let port = up.ports[0];
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let expected = made(&source, &["--num=5000"]);
    create(port, "birds", 1);
    copy(&source, &up.url(0, "/birds"), &["--quiet"]).ok();
    assert!(scan(port, "birds") == expected);
}

#[test]
fn a_body_is_stored_whole_or_refused_with_a_reason() {
    let up = Up::with(3, &["--max-body=100000"]);
    let port = up.ports[0];
    create(port, "birds", 3);
    let path = "/v1/keyspaces/birds/bulk";
    let pairs: [(&[u8], &[u8]); 2] = [(b"knot", b"red"), (b"\x00\xff", b"")];
    let good = body(&pairs);
    let stored = bulk(port, path, PAIRS, &good);
    assert_eq!(stored.status, 200, "{stored:?}");
    assert_eq!(stored.json(), serde_json::json!({"pairs": 2, "bytes": 9}));
    let expected: Pairs = pairs
        .iter()
        .map(|(k, v)| (k.to_vec(), v.to_vec()))
        .collect();
    assert_eq!(scan(up.ports[2], "birds"), expected);
    assert_eq!(bulk(port, path, PAIRS, &body(&[])).json()["pairs"], 0);
    let all = bulk(port, &format!("{path}?ack=3&from=3"), PAIRS, &good);
    assert_eq!(all.status, 200);

    let other = body(&[(b"other", b"value")]);
    let mut damaged = other.clone();
    damaged[9] ^= 1;
    let too_long = body(&[(&[b'k'; 65_537], b"")]);
    for (path, content_type, body, status, words) in [
        (path, PAIRS, &damaged[..], 400, "checksum"),
        (path, PAIRS, &other[..10], 400, "checksum"),
        (
            path,
            PAIRS,
            &body(&[(b"other", b""), (b"", b"v")]),
            400,
            "pair 2",
        ),
        (path, PAIRS, &too_long, 400, "1 to 65536 bytes"),
        (path, "text/plain", &other, 415, PAIRS),
        (
            "/v1/keyspaces/nope/bulk",
            PAIRS,
            &other,
            404,
            "no such keyspace",
        ),
        (
            "/v1/keyspaces/birds/bulk?ack=4",
            PAIRS,
            &other,
            400,
            "ack=4",
        ),
        (
            "/v1/keyspaces/birds/bulk?from=9",
            PAIRS,
            &other,
            400,
            "from=9",
        ),
        (path, PAIRS, &vec![0; 200_000], 413, "larger than"),
    ] {
        let answer = bulk(port, path, content_type, body);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.text().contains(words), "{answer:?}");
    }
    let answer = Wire::open(port).request("GET", path, b"");
    assert_eq!(answer.status, 405);
    // A value that can be put by itself can be put in bulk, with the longest key.
    let largest = body(&[(&[b'k'; 65_536], &[b'v'; 100_000])]);
    assert_eq!(bulk(port, path, PAIRS, &largest).status, 200);
    assert_eq!(scan(port, "birds").len(), 3);
}

#[test]
fn a_cluster_that_is_away_is_waited_for_and_a_copy_that_gives_up_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let expected = made(&source, &[]);
    let up = Up::nodes(3);
    let port = up.ports[0];
    create(port, "birds", 3);
    let start = |retry_for: &str| {
        let mut command = dunlin();
        command.arg("copy").arg(&source).arg(up.url(0, "/birds"));
        command.args(["--range-size=64KiB", "--limit=1MB/s", "--interval=1s"]);
        command.args(["--connections=2", "--retry-for", retry_for]);
        Process::start(&mut command, &directory.path().join("copy.log"))
    };
    let mut copying = start("1s");
    let journal = || {
        let name = left_behind(directory.path())
            .into_iter()
            .find(|name| name.contains(".keyspace-"))?;
        std::fs::read_to_string(directory.path().join(name).join("dunlin-copy.partial/done")).ok()
    };
    let units_done = || journal().map_or(0, |journal| journal.lines().count());
    // Ranges of which nothing is left but deletes are done before anything is sent, and a keyspace
    // that is still empty is begun anew.
    eventually("units are done", Duration::from_secs(60), || {
        units_done() >= 2 && !scan(port, "birds").is_empty()
    });
    up.process.signal("-STOP");
    // Stopped, not gone: each answer is waited for until it is certain that none comes.
    let code = copying.ended(Duration::from_secs(120));
    assert_eq!(code, Some(1), "{}", copying.output());
    let said = copying.output();
    let last = said.lines().last().unwrap();
    assert!(
        last.contains("is partial, ") && last.contains("did not answer"),
        "{last}"
    );
    let done = units_done();
    assert!(done >= 2);
    up.process.signal("-CONT");

    let mut copying = start("60s");
    eventually("more units are done", Duration::from_secs(60), || {
        assert!(copying.is_running(), "{}", copying.output());
        units_done() > done
    });
    up.process.signal("-STOP");
    std::thread::sleep(Duration::from_secs(1));
    up.process.signal("-CONT");
    let code = copying.ended(Duration::from_secs(120));
    assert_eq!(code, Some(0), "{}", copying.output());
    let said = copying.output();
    assert!(said.contains("going on with a copy of which"), "{said}");
    assert!(scan(port, "birds") == expected);
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());
}

#[test]
fn what_others_write_meanwhile_is_found_in_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let expected = made(&source, &[]);
    let up = Up::nodes(1);
    let port = up.ports[0];
    create(port, "birds", 1);
    let target = up.url(0, "/birds");
    let mut command = dunlin();
    command.arg("copy").arg(&source).arg(&target);
    command.args(["--limit=1MB/s", "--range-size=64KiB", "--quiet"]);
    let mut copying = Process::start(&mut command, &directory.path().join("copy.log"));
    let first = expected.keys().next().unwrap();
    eventually("the first key is there", Duration::from_secs(60), || {
        key(port, "GET", "birds", first, b"").status == 200
    });
    assert_eq!(key(port, "PUT", "birds", first, b"other").status, 201);
    assert_eq!(copying.ended(Duration::from_secs(120)), Some(1));
    let said = copying.output();
    let words = format!("has another value for the key {}", first.escape_ascii());
    assert!(
        said.contains("differ in 1 of") && said.contains(&words),
        "{said}"
    );
    assert_eq!(left_behind(directory.path()), Vec::<String>::new());
    let said = copy(&source, &target, &["--quiet"]);
    assert!(said.complaint(1).contains("is not empty"));
    copy(&source, &target, &["--quiet", "--merge"]).ok();
    assert!(scan(port, "birds") == expected);
}
