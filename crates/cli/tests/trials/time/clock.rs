//! A node whose clock is seventy years ahead: fenced, named, and without effect on the others.

use std::time::{Duration, SystemTime};

use crate::harness::eventually;
use crate::harness::flock::Flock;

const SOON: Duration = Duration::from_secs(20);
const YEARS_70_MS: u64 = 70 * 365 * 86_400_000;

#[test]
fn a_node_far_ahead_of_the_others_is_fenced_and_moves_no_clock() {
    let mut flock = Flock::prepare(&[]);
    flock.up(0);
    flock.up(1);
    flock.nodes[2].is_ahead_70_years = true;
    flock.spawn(2);
    let fenced = &flock.nodes[2];
    eventually("it names its clock", SOON, || {
        fenced
            .try_request("GET", "/health", b"")
            .is_ok_and(|health| health.status == 503 && health.text().contains("70 years ahead"))
    });
    for (method, path) in [
        ("PUT", "/v0/entity?id=k"),
        ("GET", "/v0/entity?id=k"),
        ("PUT", "/v1/keyspaces/default/keys/k"),
        ("GET", "/v1/keyspaces/default/keys?limit=1"),
    ] {
        let refused = fenced.request(method, path, b"future");
        assert_eq!(refused.status, 503, "{method} {path}");
        assert!(
            refused.text().contains("the clock of n3"),
            "{}",
            refused.text()
        );
    }
    for (node, value) in [(0, "one"), (1, "two")] {
        let put = flock.nodes[node].put("k", value.as_bytes(), "");
        assert_eq!(put.status, 201);
        let stamped_ms = u64::from_str_radix(&put.version()[..12], 16).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ms = now.unwrap().as_millis() as u64;
        assert!(stamped_ms < now_ms + YEARS_70_MS / 70, "{stamped_ms}");
        let status = flock.nodes[node].status().to_string();
        assert!(
            status.contains("the clock of n3 is 70 years ahead"),
            "{status}"
        );
        assert_eq!(flock.nodes[node].get("k", "").text(), value);
    }
}
