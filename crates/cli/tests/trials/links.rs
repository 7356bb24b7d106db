//! Two clusters of three processes, one of which follows the other: `kill -9` on both sides under load.

use std::time::{Duration, Instant};

use crate::harness::child::command;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Writer, beside, verify};
use crate::harness::random::Random;

const WRITERS: usize = 4;
/// How long nodes are killed.
const LASTS: Duration = Duration::from_secs(60);
const ARRIVES: Duration = Duration::from_secs(120);

fn run(flock: &Flock, arguments: &[&str]) -> (bool, String) {
    let servers: Vec<String> = flock
        .addresses()
        .iter()
        .map(|a| format!("http://{a}"))
        .collect();
    let server = format!("--server={}", servers.join(","));
    let out = command().args(arguments).arg(server).output().unwrap();
    let text = [&out.stdout[..], &out.stderr].concat();
    (out.status.success(), String::from_utf8(text).unwrap())
}

fn link(flock: &Flock) -> serde_json::Value {
    let (is_done, text) = run(flock, &["link", "show", "ab", "--json"]);
    assert!(is_done, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_cluster_that_follows_is_equal_after_kills_on_both_sides() {
    let mut random = Random::from_environment();
    // Logs that end soon: stored records are sent again and again, and so are logs.
    let flags = [
        "--segment=1MiB",
        "--flush=1MiB",
        "--retention=4MiB",
        "--pins=4MiB",
    ];
    let (mut a, mut b) = (Flock::start(&flags), Flock::start(&flags));
    let servers: Vec<String> = b
        .addresses()
        .iter()
        .map(|b| format!("http://{b}"))
        .collect();
    let to = format!("{}/default", servers.join(","));
    let (is_done, text) = run(
        &a,
        &["link", "create", "ab", "--from", "default", "--to", &to],
    );
    assert!(is_done, "{text}");
    let addresses = a.addresses();
    let writers = (0..WRITERS)
        .map(|number| {
            let writer = Writer::new(&format!("w{number}"), &addresses, random.next(), 60);
            writer.value_bytes(1_500)
        })
        .collect();
    let (ledger, kills) = beside(writers, |_| {
        let (start, mut kills) = (Instant::now(), 0);
        while start.elapsed() < LASTS {
            std::thread::sleep(random.millis(100, 1_500));
            let flock = if random.below(2) == 0 { &mut a } else { &mut b };
            let first = random.below(3);
            let count = if random.below(4) == 0 { 2 } else { 1 };
            let victims: Vec<usize> = (0..count).map(|more| (first + more) % 3).collect();
            victims.iter().for_each(|victim| flock.kill(*victim));
            std::thread::sleep(random.millis(20, 3_000));
            victims.iter().for_each(|victim| flock.spawn(*victim));
            victims.iter().for_each(|victim| flock.wait(*victim));
            kills += count;
        }
        kills
    });
    let scan = |flock: &Flock| run(flock, &["scan", "--json", "--keyspace", "default"]);
    eventually("both clusters hold the same", ARRIVES, || {
        let (of_a, of_b) = (scan(&a), scan(&b));
        of_a.0 && of_a == of_b
    });
    let state = link(&a);
    println!(
        "{kills} kills, {} acknowledged writes, {} of unknown outcome; the link since the last starts: {} sent, {} held, {} older, {} not sent, {} requests again",
        ledger.acknowledged_count,
        ledger.open_count,
        state["sent"],
        state["held"],
        state["older"],
        state["filtered"],
        state["retries"],
    );
    assert!(ledger.acknowledged_count > 1_000, "hardly any load");
    assert!(kills >= 10, "only {kills} kills");
    verify(&ledger, &a.nodes, "&ack=2");
    verify(&ledger, &b.nodes, "&ack=2");
}
