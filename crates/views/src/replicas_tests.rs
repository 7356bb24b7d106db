#![allow(clippy::unwrap_used)]

use super::*;

fn at(at: &str, sums: &[(u16, u64, u64)]) -> ViewVerified {
    let partitions = sums.iter().map(|(partition, position, rows)| PartitionSum {
        partition: *partition,
        position: *position,
        rows: *rows,
    });
    ViewVerified {
        at: at.to_owned(),
        partitions: partitions.collect(),
        ..ViewVerified::default()
    }
}

#[test]
fn replicas_at_one_position_must_agree() {
    let all = [
        at("n1/0", &[(0, 5, 100), (1, 5, 7), (2, 1, 9)]),
        at("n2/0", &[(0, 5, 100), (1, 5, 8)]),
        at("n3/0", &[(0, 6, 101), (2, 2, 9)]),
    ];
    let compared = compare(&all).unwrap();
    assert_eq!(
        (compared.documents, compared.changed, compared.differences),
        (2, 1, 1)
    );
    assert_eq!(compared.examples[0].of, "partition 1");
    assert!(compared.examples[0].what.contains("n2/0 and n1/0"));
    assert_eq!(compare(&all[..1]), None);
}
