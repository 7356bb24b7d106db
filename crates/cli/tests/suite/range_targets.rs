//! Ranges of transactional keyspaces leave nodes and come to others, by commands.

use std::time::Duration;

use serde_json::Value;

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::suite_ranges::{RANGES, put, reads, run, start, succeeds, whole};

fn ranges(flock: &Flock, node: usize) -> Vec<Value> {
    let listed = succeeds(flock, node, &["range", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["ranges"].as_array().unwrap().clone()
}

/// Replicas on a node, of all ranges.
fn held(ranges: &[Value], node: &str) -> usize {
    let replicas = ranges
        .iter()
        .flat_map(|range| range["replicas"].as_array().unwrap());
    let on = |at: &Value| at.as_str().unwrap().starts_with(&format!("{node}/"));
    replicas.filter(|replica| on(&replica["at"])).count()
}

#[test]
fn ranges_come_to_an_added_node_and_leave_drained_and_dead_ones() {
    let mut flock = start(&["--shards=2"]);
    flock.up_spare();
    succeeds(&flock, 0, &["node", "add", "n4"]);
    let even = |flock: &Flock| {
        let ranges = ranges(flock, 1);
        ["n1", "n2", "n3", "n4"].map(|node| held(&ranges, node)) == [3, 3, 3, 3]
    };
    eventually("replicas are spread", Duration::from_secs(60), || {
        even(&flock) && flock.nodes[1].has_whole_ranges(RANGES)
    });
    succeeds(&flock, 1, &["node", "drain", "n1"]);
    let after = ranges(&flock, 1);
    assert_eq!(held(&after, "n1"), 0, "{after:?}");
    flock.stop(0);
    whole(&flock, 1);
    reads(&flock, 3, "first");
    for key in 0..10 {
        put(&flock, 1 + key % 3, key, "second");
    }
    // Another is lost for good, and the first comes back in its stead.
    flock.kill(2);
    flock.up(0);
    succeeds(&flock, 1, &["node", "remove", "n3", "--replace-with", "n1"]);
    let after = ranges(&flock, 1);
    assert_eq!(held(&after, "n3"), 0, "{after:?}");
    assert_eq!(held(&after, "n1"), RANGES, "{after:?}");
    whole(&flock, 0);
    flock.kill(1);
    for node in [0, 3] {
        reads(&flock, node, "second");
    }
}

#[test]
fn an_operator_says_who_leads_and_where_replicas_are() {
    let mut flock = start(&["--shards=2"]);
    flock.up_spare();
    whole(&flock, 0);
    let listed = ranges(&flock, 0);
    let leader = |range: &Value| range["leader"].as_str().unwrap()[..2].to_owned();
    let before = leader(&listed[1]);
    let next = ["n1", "n2", "n3"].into_iter().find(|node| *node != before);
    let next = next.unwrap();
    succeeds(&flock, 0, &["range", "lead", "bank", "0", next]);
    assert_eq!(leader(&ranges(&flock, 0)[1]), next);
    // A node that is no member holds nothing, and one without a replica leads nothing.
    let (code, text) = run(
        &flock,
        0,
        &["range", "move", "bank", "0", "--from", next, "--to", "n4"],
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("n4 is no member"), "{text}");
    let (_, text) = run(&flock, 0, &["range", "lead", "bank", "0", "n4"]);
    assert!(text.contains("n4 has no replica"), "{text}");
    let (_, text) = run(&flock, 0, &["range", "lead", "bank", "7", "n1"]);
    assert!(text.contains("there is no such range"), "{text}");
    let (_, text) = run(&flock, 0, &["range", "lead", "nest", "0", "n1"]);
    assert!(text.contains("there is no such range"), "{text}");
    succeeds(&flock, 0, &["node", "add", "n4"]);
    eventually("replicas are spread", Duration::from_secs(60), || {
        let ranges = ranges(&flock, 0);
        held(&ranges, "n4") == 3 && flock.nodes[0].has_whole_ranges(RANGES)
    });
    let listed = ranges(&flock, 0);
    let range = listed[1..].iter();
    let mut range = range.filter(|range| held(std::slice::from_ref(*range), "n4") == 1);
    let range = range.next_back().unwrap();
    let number = range["range"].to_string();
    let on = |node: &&str| held(std::slice::from_ref(range), node) == 1;
    let free = ["n1", "n2", "n3"].into_iter().find(|node| !on(node));
    let to = format!("{}/1", free.unwrap());
    succeeds(
        &flock,
        0,
        &[
            "range", "move", "bank", &number, "--from", "n4", "--to", &to,
        ],
    );
    reads(&flock, 3, "first");
    // Three become one, and three again.
    succeeds(&flock, 0, &["keyspace", "alter", "bank", "--replicas", "1"]);
    // One may be on its way to a node with fewer.
    eventually("each range has one", Duration::from_secs(60), || {
        let ranges = ranges(&flock, 0);
        let count = |range: &Value| range["replicas"].as_array().unwrap().len();
        ranges[1..].iter().all(|range| count(range) == 1)
    });
    reads(&flock, 0, "first");
    succeeds(&flock, 0, &["keyspace", "alter", "bank", "--replicas", "3"]);
    let (_, text) = run(&flock, 0, &["keyspace", "alter", "bank", "--replicas", "5"]);
    assert!(text.contains("and there are 4"), "{text}");
    whole(&flock, 0);
    flock.kill(1);
    reads(&flock, 0, "first");
}
