//! A keyspace is there, through every node, when its creation is answered.

use crate::harness::flock::Flock;

#[test]
fn a_new_keyspace_takes_puts_through_every_node_at_once() {
    let flock = Flock::start(&["--shards", "2"]);
    for number in 0..30 {
        let by = &flock.nodes[number % 3];
        let body = format!("{{\"name\":\"k{number}\"}}");
        let created = by.request("POST", "/v1/keyspaces", body.as_bytes());
        assert_eq!(created.status, 201, "k{number}: {}", created.text());
        for node in &flock.nodes {
            let key = format!("/v1/keyspaces/k{number}/keys/{}", node.name);
            let put = node.request("PUT", &key, b"at once");
            assert_eq!(put.status, 201, "{key}: {}", put.text());
        }
    }
}
