//! Comparisons of linked clusters: `dunlin link verify`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::harness::child::command;
use crate::harness::curl::{delete, get, put};
use crate::harness::eventually;
use crate::harness::up::Up;

const KEYS: &str = "/v1/keyspaces/default/keys";
const ARRIVES: Duration = Duration::from_secs(60);

/// A command; its exit code, standard output and errors.
fn run(server: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let server = format!("--server={server}");
    let out = command().args(arguments).arg(server).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn succeeds(server: &str, arguments: &[&str]) -> String {
    let (code, text, errors) = run(server, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}{errors}");
    text
}

/// A comparison: its exit code and result.
fn verify(server: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let all = [&["link", "verify"], arguments, &["--json"]].concat();
    let (code, text, errors) = run(server, &all);
    let result = serde_json::from_str(&text);
    (code, result.unwrap_or_else(|_| panic!("{text}{errors}")))
}

fn make(from: &str, name: &str, to: &str, more: &[&str]) {
    let to = format!("{to}/default");
    let arguments = ["link", "create", name, "--from", "default", "--to", &to];
    succeeds(from, &[&arguments, more].concat());
}

fn scan(server: &str) -> String {
    succeeds(server, &["scan", "--json"])
}

fn fill(url: &str, prefix: &str, count: u32) {
    for key in 0..count {
        let answer = put(&format!("{url}/{prefix}{key:04}"), b"value");
        assert!(answer.status < 300, "{}", answer.text());
    }
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(done.unwrap().success());
}

#[test]
fn what_the_target_has_written_itself_differs_and_what_is_on_its_way_does_not() {
    let (a, b) = (Up::nodes(2), Up::nodes(2));
    let (at_a, at_b) = (a.url(0, ""), b.url(1, ""));
    fill(&a.url(0, KEYS), "a", 60);
    make(&at_a, "ab", &at_b, &[]);
    // Written a moment before.
    fill(&a.url(1, KEYS), "b", 40);
    let (code, result) = verify(&at_a, &["ab"]);
    assert_eq!(code, Some(0), "{result}");
    assert_eq!(result["records"], 100, "{result}");
    // A delete there, a value there, an overwritten one, and a delete here that arrives.
    assert_eq!(delete(&b.url(0, &format!("{KEYS}/a0003"))).status, 202);
    fill(&b.url(0, KEYS), "c", 1);
    fill(&b.url(0, KEYS), "a", 1);
    assert_eq!(delete(&a.url(0, &format!("{KEYS}/b0003"))).status, 202);
    let (code, result) = verify(&at_a, &["ab"]);
    assert_eq!(code, Some(1), "{result}");
    assert_eq!(result["differences"]["newer_there"], 3, "{result}");
    assert_eq!(result["examples"].as_array().unwrap().len(), 3, "{result}");
    // A repair takes nothing from a target that writes for itself.
    let (code, again) = verify(&at_a, &["ab", "--repair"]);
    assert_eq!(code, Some(1), "{again}");
    assert_eq!(again["differences"], result["differences"], "{again}");
    assert_eq!(get(&b.url(0, &format!("{KEYS}/a0003"))).status, 404);
    // A link that does not deliver: nothing is known.
    succeeds(&at_a, &["link", "pause", "ab"]);
    let (code, result) = verify(&at_a, &["ab", "--wait", "2s"]);
    assert_eq!(code, Some(3), "{result}");
    assert_eq!(result["differences"], serde_json::json!({}), "{result}");
    let (code, _, errors) = run(&at_a, &["link", "verify", "ab", "--resume"]);
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("nothing to resume"), "{errors}");
}

#[test]
fn a_cluster_put_back_to_an_earlier_state_is_repaired_from_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let (data, early) = (directory.path().join("b"), directory.path().join("early"));
    let a = Up::nodes(1);
    let at_a = a.url(0, "");
    let mut b = Up::on(&data, 1);
    fill(&a.url(0, KEYS), "a", 30);
    make(&at_a, "ab", &b.url(0, ""), &["--both-ways"]);
    let same = |b: &Up| scan(&at_a) == scan(&b.url(0, ""));
    eventually("both hold the same", ARRIVES, || same(&b));
    b.process.stop();
    copy(&data, &early);
    b = Up::on(&data, 1);
    succeeds(&at_a, &["link", "set", "ab", "--to", &b.url(0, "")]);
    // All of this the other cluster will lose, its own writes among it.
    fill(&a.url(0, KEYS), "b", 20);
    fill(&b.url(0, KEYS), "c", 10);
    fill(&a.url(0, KEYS), "a", 5);
    assert_eq!(delete(&a.url(0, &format!("{KEYS}/a0010"))).status, 202);
    eventually("both hold the same", ARRIVES, || same(&b));
    assert_eq!(verify(&at_a, &["ab"]).0, Some(0));
    let full = scan(&at_a);
    b.process.stop();
    fs::remove_dir_all(&data).unwrap();
    copy(&early, &data);
    b = Up::on(&data, 1);
    succeeds(&at_a, &["link", "set", "ab", "--to", &b.url(0, "")]);
    let (code, result) = verify(&at_a, &["ab"]);
    assert_eq!(code, Some(1), "{result}");
    assert_eq!(result["differences"]["missing_there"], 36, "{result}");
    let (code, result) = verify(&at_a, &["ab", "--repair"]);
    assert_eq!(code, Some(0), "{result}");
    assert_eq!(result["repaired"], 36, "{result}");
    assert_eq!(scan(&b.url(0, "")), full);
    assert_eq!(verify(&at_a, &["ab"]).0, Some(0));
    // The same from the other side.
    assert_eq!(scan(&at_a), full);
}

/// Keys of a keyspace, by one import.
fn import(server: &str, keyspace: &str, prefix: &str, count: u32, directory: &Path) {
    let lines = (0..count).map(|key| format!("{{\"id\":\"{prefix}{key:05}\"}}\n"));
    let file = directory.join(prefix);
    fs::write(&file, lines.collect::<String>()).unwrap();
    let file = file.to_str().unwrap();
    let format = ["--format", "jsonl", "--key", "id"];
    let arguments = [&["import", "--keyspace", keyspace], &format[..], &[file]].concat();
    succeeds(server, &arguments);
}

#[test]
fn partition_counts_may_differ_and_the_target_may_have_much_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (Up::nodes(1), Up::nodes(1));
    let (at_a, at_b) = (a.url(0, ""), b.url(0, ""));
    for (name, here, there) in [("more", "1", "4"), ("less", "2", "1")] {
        for (server, partitions) in [(&at_a, here), (&at_b, there)] {
            let create = [
                "keyspace",
                "create",
                name,
                "--replicas",
                "1",
                "--partitions",
            ];
            succeeds(server, &[&create[..], &[partitions]].concat());
        }
        import(&at_a, name, "a", 6_000, directory.path());
        let to = format!("{at_b}/{name}");
        let create = ["link", "create", name, "--from", name, "--to", &to];
        succeeds(&at_a, &create);
        let (code, result) = verify(&at_a, &[name]);
        assert_eq!(code, Some(0), "{result}");
        assert_eq!(result["records"], 6_000, "{result}");
    }
    // More in a range there than is read at once.
    import(&at_b, "less", "b", 20_000, directory.path());
    let (code, result) = verify(&at_a, &["less"]);
    assert_eq!(code, Some(1), "{}", result["why"]);
    assert_eq!(result["differences"]["newer_there"], 20_000);
    assert_eq!(result["records"], 6_000);
    assert_eq!(result["examples"].as_array().unwrap().len(), 1_000);
}
