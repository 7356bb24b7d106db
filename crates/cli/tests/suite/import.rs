//! import: what is stored, what is counted, what is tried again, and when it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::store::{Store, Verdict};
use crate::support::{Ended, run_with_input};

fn import(store: &Store, format: &str, key: &str, more: &[&str], input: &[u8]) -> Ended {
    let mut arguments = vec![
        "import", "--format", format, "--key", key, "--server", &store.url,
    ];
    arguments.extend_from_slice(more);
    run_with_input(&arguments, input)
}

#[test]
fn three_formats_store_what_they_say() {
    let store = Store::start();
    let json = import(
        &store,
        "jsonl",
        "id",
        &["--json"],
        b"{\"id\":\"j\", \"n\": 1}\r\n{\"id\":7}\n",
    )
    .ok()
    .json();
    assert_eq!(
        (json["records"].as_u64(), json["malformed"].as_u64()),
        (Some(2), Some(0))
    );
    assert_eq!(store.value("j").unwrap(), "{\"id\":\"j\", \"n\": 1}");
    import(&store, "csv", "id", &[], b"id,name\nc,\"red, knot\"\n").ok();
    assert_eq!(
        store.value("c").unwrap(),
        r#"{"id":"c","name":"red, knot"}"#
    );
    import(
        &store,
        "deb822",
        "Package",
        &[],
        b"Package: d\nDescription: one\n two\n\n",
    )
    .ok();
    assert_eq!(
        store.value("d").unwrap(),
        "Package: d\nDescription: one\n two"
    );
    assert_eq!(store.len(), 4);
}

#[test]
fn a_file_is_read_and_the_report_is_for_people() {
    let store = Store::start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f.jsonl");
    let lines: String = (0..1500).map(|n| format!("{{\"id\":{n}}}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let ended = import(&store, "jsonl", "id", &[file.to_str().unwrap()], b"").ok();
    assert!(
        ended.text().starts_with("1,500 records ("),
        "{}",
        ended.text()
    );
    assert!(
        ended.stderr.is_empty(),
        "a progress bar without a terminal: {:?}",
        ended.stderr
    );
    assert_eq!(store.len(), 1500);
    let ended = import(&store, "jsonl", "id", &["/nonexistent"], b"");
    assert!(ended.complaint(1).starts_with("/nonexistent: "));
    assert_eq!(
        import(
            &store,
            "jsonl",
            "id",
            &[directory.path().to_str().unwrap()],
            b""
        )
        .code,
        1
    );
}

#[test]
fn malformed_records_are_named_counted_and_skipped() {
    let store = Store::start();
    let mut input = b"{\"id\":\"first\"}\n".to_vec();
    for _ in 0..25 {
        input.extend_from_slice(b"{\"no\":1}\n");
    }
    input.extend_from_slice(b"{\"id\":\"last\"}\n");
    let json = import(&store, "jsonl", "id", &["--json"], &input)
        .partly()
        .json();
    assert_eq!(
        (json["records"].as_u64(), json["malformed"].as_u64()),
        (Some(2), Some(25))
    );
    let named = json["malformed_first"].as_array().unwrap();
    assert_eq!(named.len(), 20);
    assert_eq!(
        (named[0]["line"].as_u64(), named[19]["line"].as_u64()),
        (Some(2), Some(21))
    );
    let text = import(&store, "jsonl", "id", &[], &input)
        .partly()
        .text()
        .to_owned();
    assert!(
        text.contains("25 malformed:\n  line 2: no field \"id\"") && text.contains("and 5 more"),
        "{text}"
    );
}

#[test]
fn strict_stops_at_the_first_malformed_record() {
    let store = Store::start();
    let ended = import(
        &store,
        "jsonl",
        "id",
        &["--strict"],
        b"{\"id\":1}\nnonsense\n{\"id\":3}\n",
    );
    let line = ended.complaint(1);
    assert!(
        line.starts_with("line 2: ") && line.ends_with("(--strict)"),
        "{line}"
    );
    assert_eq!((store.value("1").is_some(), store.value("3")), (true, None));
}

#[test]
fn nothing_imported_is_a_failure() {
    let store = Store::start();
    for input in [&b""[..], b"nonsense\n"] {
        assert_eq!(
            import(&store, "jsonl", "id", &[], input).complaint(1),
            "nothing was imported"
        );
    }
    let ended = import(&store, "csv", "isbn", &[], b"id,name\n1,2\n");
    assert_eq!(
        ended.complaint(1),
        "no column \"isbn\"; the columns are id, name"
    );
}

#[test]
fn the_last_record_of_a_key_wins_however_slow_the_first_was() {
    let store = Store::gated(Arc::new(|_, key, before| match (key, before) {
        (b"same", 0) => Verdict::ServeAfter(Duration::from_millis(300)),
        _ => Verdict::Serve,
    }));
    let input: String = (0..50)
        .map(|n| format!("{{\"id\":\"same\",\"n\":{n}}}\n{{\"id\":{n}}}\n"))
        .collect();
    import(&store, "jsonl", "id", &[], input.as_bytes()).ok();
    assert_eq!(store.value("same").unwrap(), "{\"id\":\"same\",\"n\":49}");
    assert_eq!(store.len(), 51);
}

#[test]
fn what_may_succeed_later_is_tried_again() {
    let failures = AtomicUsize::new(0);
    let store = Store::gated(Arc::new(move |_, _, _| {
        match failures.fetch_add(1, Ordering::SeqCst) {
            0..100 => Verdict::Answer(if failures.load(Ordering::SeqCst).is_multiple_of(2) {
                503
            } else {
                504
            }),
            _ => Verdict::Serve,
        }
    }));
    let input: String = (0..40).map(|n| format!("{{\"id\":{n}}}\n")).collect();
    let json = import(&store, "jsonl", "id", &["--json"], input.as_bytes())
        .ok()
        .json();
    assert_eq!(
        (json["records"].as_u64(), json["retries"].as_u64()),
        (Some(40), Some(100))
    );
    assert_eq!(store.len(), 40);
}

#[test]
fn a_cluster_that_stays_away_ends_the_import_in_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let began = std::time::Instant::now();
    let arguments = [
        "import",
        "--format",
        "jsonl",
        "--key",
        "id",
        "--retry-for",
        "1",
        "--server",
        &port,
    ];
    let ended = run_with_input(&arguments, b"{\"id\":1}\n");
    assert!(
        ended.complaint(1).starts_with("line 1: cannot reach"),
        "{}",
        ended.stderr
    );
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[test]
fn what_the_server_refuses_is_malformed_and_the_rest_goes_on() {
    let store = Store::gated(Arc::new(|_, key, _| {
        if key == b"big" {
            Verdict::Answer(413)
        } else {
            Verdict::Serve
        }
    }));
    let json = import(
        &store,
        "jsonl",
        "id",
        &["--json"],
        b"{\"id\":\"big\"}\n{\"id\":\"small\"}\n",
    )
    .partly()
    .json();
    assert_eq!(
        (json["records"].as_u64(), json["malformed"].as_u64()),
        (Some(1), Some(1))
    );
    assert!(
        json["malformed_first"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("413")
    );
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let store = Store::start();
    // Half a gigabyte through a pipe, most of it malformed, some of it in one line.
    let script = "import sys\nw=sys.stdout.write\nw('{\"id\":1}\\n')\nfor i in range(400): w('x'*1048576)\nw('\\n')\n\
                  for i in range(1000): w('y'*100000+'\\n')\n";
    let mut writer = std::process::Command::new("python3")
        .args(["-c", script])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut command = crate::support::dunlin(&[
        "import", "--format", "jsonl", "--key", "id", "--json", "--server", &store.url,
    ]);
    let child = command
        .stdin(writer.stdout.take().unwrap())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let peak = std::thread::spawn(move || {
        let mut peak_kib = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) else {
                break;
            };
            peak_kib = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        peak_kib
    });
    let ended: Ended = child.wait_with_output().unwrap().into();
    writer.wait().unwrap();
    assert_eq!(ended.partly().json()["malformed"].as_u64(), Some(1001));
    let peak_kib = peak.join().unwrap();
    assert!(peak_kib > 0 && peak_kib < 100 << 10, "{peak_kib} KiB");
}
