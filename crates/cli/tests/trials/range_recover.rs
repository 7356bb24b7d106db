//! Two machines of three are lost for good while clients write: ranges are recovered, and others take their places.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::child::command;
use crate::harness::eventually;
use crate::harness::flock::Flock;

const KEYS: usize = 40;
const CLIENTS: usize = 4;
const RANGES: [(&str, &str); 3] = [("_oracle", "0"), ("bank", "0"), ("bank", "1")];
const WAIT: Duration = Duration::from_secs(60);

fn path(key: usize) -> String {
    format!("/v1/keyspaces/bank/keys/{key:02}")
}

/// The greatest value and version of each key that was acknowledged.
type Acknowledged = Mutex<BTreeMap<usize, (u64, String)>>;

/// Each key is written by one client alone, with values that grow.
fn write(flock: &Flock, acknowledged: &Acknowledged, ends: &AtomicBool) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for value in 1u64.. {
                    for key in (client..KEYS).step_by(CLIENTS) {
                        if ends.load(Ordering::Relaxed) {
                            return;
                        }
                        let put = flock.nodes[0].try_request(
                            "PUT",
                            &path(key),
                            value.to_string().as_bytes(),
                        );
                        if let Some(put) = put.ok().filter(|put| matches!(put.status, 200 | 201)) {
                            let stored = (value, put.version().to_owned());
                            acknowledged.lock().unwrap().insert(key, stored);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn ranges_of_two_lost_machines_are_recovered_and_replaced() {
    let mut flock = Flock::start(&["--clock-bound=5s"]);
    let body = json!({"name": "bank", "mode": "transactional", "split_at": ["20"]});
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    eventually("all ranges are whole", WAIT, || {
        flock.nodes[0].has_whole_ranges(RANGES.len())
    });
    flock.up_spare();
    flock.up_spare();
    let (acknowledged, ends) = (Acknowledged::default(), AtomicBool::new(false));
    let processes = [1, 2].map(|node| flock.nodes[node].process().id().to_string());
    thread::scope(|scope| {
        scope.spawn(|| write(&flock, &acknowledged, &ends));
        thread::sleep(Duration::from_secs(5));
        let killed = std::process::Command::new("kill")
            .arg("-9")
            .args(&processes)
            .status();
        assert!(killed.unwrap().success());
        thread::sleep(Duration::from_secs(2));
        ends.store(true, Ordering::Relaxed);
    });
    let server = format!("--server=http://{}", flock.nodes[0].address());
    let run = |arguments: &[&str]| {
        let out = command().args(arguments).arg(&server).output().unwrap();
        let text = [&out.stdout[..], &out.stderr].concat();
        (out.status.success(), String::from_utf8(text).unwrap())
    };
    // As long as nobody says that the machines are dead they may come back.
    let recover = [
        "range",
        "recover",
        "bank",
        "0",
        "--keep",
        "n1",
        "--accept-data-loss",
    ];
    let (is_done, text) = run(&recover);
    assert!(!is_done && text.contains("declare it dead"), "{text}");
    let remove = [
        "node",
        "remove",
        "n2",
        "n3",
        "--replace-with",
        "n4",
        "--replace-with",
        "n5",
    ];
    let (is_done, text) = run(&[&remove[..], &["--no-wait"]].concat());
    assert!(is_done, "{text}");
    let (_, listed) = run(&["node", "list"]);
    assert!(listed.contains("range bank/0"), "{listed}");
    for (keyspace, range) in RANGES {
        let recover = [
            "range",
            "recover",
            keyspace,
            range,
            "--keep",
            "n1",
            "--accept-data-loss",
        ];
        let mut text = String::new();
        eventually("it is recovered", WAIT, || {
            let (is_done, said) = run(&recover);
            text = said;
            is_done
        });
        println!("{text}");
    }
    eventually("all ranges are whole", WAIT, || {
        flock.nodes[0].has_whole_ranges(RANGES.len())
    });
    eventually("the machines are forgotten", WAIT, || {
        let (_, listed) = run(&["node", "list"]);
        !listed.contains("n2") && !listed.contains("change")
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() == KEYS);
    let mut lost = 0;
    for (key, (value, before)) in acknowledged {
        let mut got = flock.nodes[3].request("GET", &path(key), b"");
        eventually("it is read", WAIT, || {
            got = flock.nodes[3].request("GET", &path(key), b"");
            got.status == 200
        });
        lost += u64::from(got.text().parse::<u64>().unwrap() < value);
        let mut put = got;
        eventually("it is stored", WAIT, || {
            put = flock.nodes[4].request("PUT", &path(key), b"last");
            matches!(put.status, 200 | 201)
        });
        // Their texts have the order of versions.
        assert!(put.version() > before.as_str(), "{key}: versions went back");
    }
    println!("{lost} of {KEYS} keys have an older value than was acknowledged");
}
