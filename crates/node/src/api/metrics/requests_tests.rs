#![allow(clippy::unwrap_used, clippy::expect_used)]
use hyper::StatusCode;

use super::super::exposition::Exposition;
use super::*;
use crate::meters::{KEYSPACES_SHOWN, Meters, OTHER, Operation};

fn shown(meters: &Meters) -> String {
    let mut registry = Registry::default();
    of_requests(&mut registry, meters.of_node("n1"));
    Exposition::Text.write(&registry).unwrap()
}

#[test]
fn a_histogram_adds_up() {
    let meters = Meters::default();
    let requests = meters.of_shard("n1", 0);
    assert_eq!(shown(&meters), "");
    requests.follow([(1, "birds")].into_iter());
    for spent_us in [100, 1_000, 9_000_000] {
        requests.record(Operation::Get, 1, StatusCode::OK, spent_us);
    }
    let text = shown(&meters);
    let labels = "operation=\"get\",keyspace=\"birds\",status=\"2xx\"";
    for (name, le, figure) in [
        ("bucket", "le=\"0.000128\",", "1"),
        ("bucket", "le=\"0.000512\",", "1"),
        ("bucket", "le=\"0.001024\",", "2"),
        ("bucket", "le=\"2.097152\",", "2"),
        ("bucket", "le=\"+Inf\",", "3"),
        ("count", "", "3"),
        ("sum", "", "9.0011"),
    ] {
        let line = format!("dunlin_request_duration_seconds_{name}{{{le}{labels}}} {figure}\n");
        assert!(text.contains(&line), "no {line} in {text}");
    }
}

/// `docs/limits.md` states this bound.
#[test]
fn the_number_of_series_is_bounded() {
    let meters = Meters::default();
    let names: Vec<String> = (0..300).map(|id| format!("k{id}")).collect();
    for shard in 0..4 {
        let requests = meters.of_shard("n1", shard);
        let named = names.iter().enumerate();
        requests.follow(named.map(|(id, name)| (id as u32, name.as_str())));
        for id in 0..300 {
            for operation in Operation::ALL {
                for status in [200, 304, 404, 503] {
                    let status = StatusCode::from_u16(status).unwrap();
                    requests.record(operation, id, status, 1);
                }
            }
        }
    }
    let text = shown(&meters);
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(series, 36_360);
    assert_eq!(series, 5 * 4 * (KEYSPACES_SHOWN + 1) * (BUCKETS + 3));
    assert!(text.contains(&format!("keyspace=\"{OTHER}\"")));
    assert!(text.contains("keyspace=\"k99\"") && !text.contains("keyspace=\"k100\""));
}
