use super::*;
use dunlin_client::{FollowerStatus, NodeStatus};

fn caught_up() -> Status {
    let node = NodeStatus {
        alive: true,
        ..NodeStatus::default()
    };
    let follower = FollowerStatus {
        connected: true,
        state: "streaming".to_owned(),
        ..FollowerStatus::default()
    };
    Status {
        nodes: vec![node; 3],
        followers: vec![follower; 6],
        ..Status::default()
    }
}

#[test]
fn only_a_cluster_that_misses_nothing_has_caught_up() {
    assert_eq!(missing(&caught_up()), None);
    let changes: [fn(&mut Status); 5] = [
        |s| s.nodes[1].alive = false,
        |s| s.followers.truncate(5),
        |s| s.followers[5].items_remaining = 1,
        |s| s.followers[3].connected = false,
        |s| s.followers[0].state = "backfilling".to_owned(),
    ];
    for change in changes {
        let mut status = caught_up();
        change(&mut status);
        assert!(missing(&status).is_some());
    }
}
