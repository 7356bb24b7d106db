#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn shard(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

#[test]
fn the_first_that_can_be_reached_says_so_and_late_anybody() {
    let replicas = [shard(1), shard(2), shard(3)];
    // Own node, who can be reached, late; whose turn.
    let cases: [(u16, &[u16], bool, bool); 9] = [
        (1, &[2, 3], false, true),
        (1, &[], false, true),
        (2, &[1, 3], false, false),
        (2, &[3], false, true),
        (3, &[2], false, false),
        (3, &[], false, true),
        (3, &[1, 2], true, true),
        (4, &[], false, false),
        (4, &[], true, false),
    ];
    for (own, reachable, is_late, expected) in cases {
        let is_reachable = |other: ShardAddress| reachable.contains(&other.node);
        let turn = is_turn(&replicas, shard(own), is_late, is_reachable);
        assert_eq!(turn, expected, "{own} {reachable:?} {is_late}");
    }
}
