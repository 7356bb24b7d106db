#![allow(clippy::unwrap_used)]
use super::*;
use crate::range_plan::Load;
use crate::range_plan::tests::{add, cluster, follow};

fn of(topology: &Topology, wish: &Retarget) -> Result<RangeRecord, String> {
    let load = Load::of(topology);
    let range = &topology.keyspaces[0].ranges[0];
    wish.of(topology, range, |node| load.least(&[node], &[]))
}

fn lead(node: &str) -> Retarget {
    Retarget::Lead {
        node: node.to_owned(),
    }
}

fn take(from: &str, to: &str, shard: Option<u16>) -> Retarget {
    Retarget::Move {
        from: from.to_owned(),
        to: to.to_owned(),
        shard,
        instead: false,
    }
}

fn nodes(range: &RangeRecord) -> Vec<u16> {
    range.target.iter().map(|place| place.node).collect()
}

#[test]
fn the_leader_is_first_in_the_target() {
    let mut topology = cluster(4, 1);
    topology.members.ids = vec![1, 2, 3];
    add(&mut topology, "bank", 3, &[]);
    let led = of(&topology, &lead("n3")).unwrap();
    assert_eq!((nodes(&led), led.planned), (vec![3, 1, 2], 1));
    let same = of(&topology, &lead("n1")).unwrap();
    assert_eq!(same, topology.keyspaces[0].ranges[0]);
    let error = of(&topology, &lead("n4")).unwrap_err();
    assert!(error.contains("n4 has no replica"), "{error}");
    let error = of(&topology, &lead("n9")).unwrap_err();
    assert!(error.contains("there is no node n9"), "{error}");
}

#[test]
fn a_replica_goes_to_a_member_that_has_none() {
    let mut topology = cluster(5, 2);
    topology.members.ids = vec![1, 2, 3, 4];
    add(&mut topology, "bank", 3, &[]);
    follow(&mut topology);
    let moved = of(&topology, &take("n1", "n4", Some(1))).unwrap();
    assert_eq!(nodes(&moved), [4, 2, 3]);
    assert_eq!(moved.target[0].shard, 1);
    // To another shard of the same node.
    let moved = of(&topology, &take("n1", "n1", Some(1))).unwrap();
    assert_eq!((nodes(&moved), moved.target[0].shard), (vec![1, 2, 3], 1));
    for (wish, why) in [
        (take("n4", "n1", None), "n4 has no replica"),
        (take("n1", "n2", None), "n2 has a replica of it already"),
        (take("n1", "n5", None), "n5 is no member"),
        (take("n1", "n4", Some(2)), "n4 has the shards 0 to 1"),
    ] {
        let error = of(&topology, &wish).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_second_change_is_refused_unless_it_is_to_replace_the_first() {
    let mut topology = cluster(5, 1);
    add(&mut topology, "bank", 3, &[]);
    follow(&mut topology);
    topology.keyspaces[0].ranges[0] = of(&topology, &take("n1", "n4", None)).unwrap();
    let error = of(&topology, &take("n2", "n5", None)).unwrap_err();
    assert!(error.contains("--instead"), "{error}");
    let instead = Retarget::Move {
        from: "n2".to_owned(),
        to: "n5".to_owned(),
        shard: None,
        instead: true,
    };
    assert_eq!(nodes(&of(&topology, &instead).unwrap()), [4, 5, 3]);
}
