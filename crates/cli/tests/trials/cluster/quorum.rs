//! Values of the largest size through a cluster of processes.

use crate::harness::flock::Flock;

#[test]
fn the_largest_value_allowed_reaches_every_process() {
    let flock = Flock::start(&[]);
    let large: Vec<u8> = (0..16 << 20)
        .map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    assert_eq!(flock.nodes[0].put("large", &large, "&ack=3").status, 201);
    for node in &flock.nodes {
        let read = node.get("large", "&ack=3");
        assert!(
            read.status == 200 && read.body == large,
            "{}: status {}",
            node.name,
            read.status
        );
    }
    let range = flock.nodes[1].request("GET", "/v0/entities?start=large", b"");
    assert_eq!(range.body.len(), large.len() + 6);
}
