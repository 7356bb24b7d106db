#![allow(clippy::unwrap_used)]
use dunlin_client::{RangeMember, RangeStatus, Status};
use serde_json::{Value, json};

use super::at_risk;

/// Three members, of which some are away; a keyspace of each kind.
fn status(members: usize, away: &[usize], replicas: u8, voters: &[bool]) -> Status {
    let names: Vec<String> = (1..=members).map(|node| format!("n{node}")).collect();
    let is_there = |node: &usize| !away.contains(node);
    let nodes: Vec<Value> = (1..=members)
        .map(|node| json!({"name": format!("n{node}"), "id": node, "shards": 1, "alive": is_there(&node)}))
        .collect();
    let shards = (1..=members).filter(is_there);
    let shards: Vec<Value> = shards
        .map(|node| json!({"shard": format!("n{node}/0")}))
        .collect();
    let settings = json!({"mode": "quorum", "replicas": replicas, "partitions": 4, "sync": "always", "tombstone_grace_s": 0});
    let status = json!({
        "members": {"members": names}, "nodes": nodes, "shards": shards,
        "keyspaces": [
            {"name": "q", "id": 1, "settings": settings},
            {"name": "t", "id": 2, "settings": settings, "ranges": [{"number": 0}]},
        ],
    });
    let mut status: Status = serde_json::from_value(status).unwrap();
    if !voters.is_empty() {
        status.ranges.push(leader(voters));
    }
    status
}

fn leader(voters: &[bool]) -> RangeStatus {
    let voters = (1..).zip(voters).map(|(id, heard)| RangeMember {
        id,
        role: "voter".to_owned(),
        heard: *heard,
        ..RangeMember::default()
    });
    let mut leader = RangeStatus {
        keyspace: "t".to_owned(),
        role: "leader".to_owned(),
        ..RangeStatus::default()
    };
    leader.led.replicas = voters.collect();
    leader
}

#[test]
fn keyspaces_that_one_more_loss_would_stop() {
    let (all, one_away) = (&[true; 3][..], &[true, true, false][..]);
    // Members, those away, replicas of the keyspaces, voters heard; which keyspaces are at risk.
    for (members, away, replicas, voters, risks) in [
        (3, &[][..], 3, all, ""),
        (3, &[2], 3, all, "q"),
        (3, &[], 3, one_away, "t"),
        (3, &[2], 3, one_away, "qt"),
        (3, &[2, 3], 3, &[], "qt"),
        // A node of four may be the one that holds the third replica.
        (4, &[4], 3, all, "q"),
        (5, &[5], 5, &[true, true, true, true, false], ""),
        (5, &[4, 5], 5, &[true, true, true, false, false], "qt"),
        // Fewer members than replicas.
        (2, &[], 3, &[true, true], "qt"),
        (1, &[], 3, &[true], "qt"),
        // By its nature.
        (1, &[], 1, &[true], ""),
        (3, &[2], 1, &[true], ""),
    ] {
        let found = at_risk(&status(members, away, replicas, voters));
        let names: String = (found.iter())
            .map(|line| line.split([' ', ':']).nth(1).unwrap())
            .collect();
        assert_eq!(names, risks, "{members} {away:?} {replicas}: {found:?}");
    }
}

#[test]
fn a_shard_that_is_filled_is_away() {
    let mut status = status(3, &[], 3, &[true; 3]);
    assert_eq!(at_risk(&status), [""; 0]);
    status.shards[1].refilling = true;
    let risks = at_risk(&status);
    assert_eq!(risks.len(), 1, "{risks:?}");
    assert!(risks[0].contains("2 of 3 replicas") && risks[0].contains("not working: n2"));
}
