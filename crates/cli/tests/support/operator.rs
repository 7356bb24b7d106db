//! The operator's `dunlin node`, and waiting for what it has begun.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::harness::child::Process;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Expected, Ledger};
use crate::support::{Ended, dunlin, run_with_input};

/// The longest a change may take on a machine that does other things, too.
const COMPLETE: Duration = Duration::from_secs(240);

/// Copies so slow that a test can act in between: clients always wait longer than this.
pub const SLOW: [&str; 2] = ["--move-latency", "1us"];

fn servers(flock: &mut Flock) -> String {
    let running = flock.nodes.iter_mut().filter_map(|node| {
        let address = node.address();
        node.is_running().then(|| format!("http://{address}"))
    });
    running.collect::<Vec<_>>().join(",")
}

fn command(flock: &mut Flock, arguments: &[&str]) -> Command {
    let mut command = dunlin(arguments);
    command.env("DUNLIN_SERVER", servers(flock));
    command
}

/// Runs `dunlin` on the nodes that are up.
pub fn at(flock: &mut Flock, arguments: &[&str]) -> Ended {
    command(flock, arguments).output().unwrap().into()
}

/// The same, begun.
pub fn begin(flock: &mut Flock, arguments: &[&str]) -> Process {
    let log = flock.directory.path().join("dunlin.output");
    Process::start(&mut command(flock, arguments), &log)
}

/// What the running nodes say of the members.
pub fn members(flock: &mut Flock) -> Value {
    at(flock, &["node", "list", "--json"]).ok().json()
}

/// Names of the members, ascending, in one string.
pub fn names(flock: &mut Flock) -> String {
    let members = members(flock);
    let names = members["members"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
    // The cluster lists them by number, which is the order in which they first came.
    names.sort_unstable();
    names.join(" ")
}

/// Waits until no change is under way.
pub fn wait_complete(flock: &mut Flock) {
    let mut last = Value::Null;
    eventually("the change is complete", COMPLETE, || {
        let ended = at(flock, &["node", "list", "--json"]);
        if ended.code == 0 {
            last = ended.json();
        }
        ended.code == 0 && last["change"].is_null()
    });
}

/// Imports `count` records of about 1 KB, which the ledger then expects.
pub fn preload(flock: &mut Flock, count: usize) -> Ledger {
    let mut random = crate::harness::random::Random::new(count as u64);
    let mut ledger = Ledger::default();
    let mut lines = String::new();
    for number in 0..count {
        let key = format!("preload-{number:06}");
        let noise: String = (0..60).map(|_| format!("{:016x}", random.next())).collect();
        let line = format!("{{\"id\":\"{key}\",\"noise\":\"{noise}\"}}");
        lines += &line;
        lines.push('\n');
        let expected = Expected {
            acknowledged: Some(line.into_bytes()),
            open: None,
        };
        ledger.keys.insert(key, expected);
    }
    let servers = servers(flock);
    let report = run_with_input(
        &[
            "import", "--format", "jsonl", "--key", "id", "--json", "--server", &servers,
        ],
        lines.as_bytes(),
    );
    assert_eq!(report.ok().json()["records"], count);
    ledger
}
