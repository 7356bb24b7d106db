//! Whether the replicas of a view have the same rows: each adds its documents up, and sums of one position must agree.

use std::collections::BTreeMap;

use dunlin_proto::api::{PartitionSum, ViewDifference, ViewVerified};

/// Differences are named up to so many.
const NAMED: usize = 10;

/// Compares the results of all shards; none where no partition has two replicas at one position.
pub(crate) fn compare(results: &[ViewVerified]) -> Option<ViewVerified> {
    let mut all: BTreeMap<u16, Vec<(&str, &PartitionSum)>> = BTreeMap::new();
    for result in results {
        for sum in &result.partitions {
            all.entry(sum.partition)
                .or_default()
                .push((&result.at, sum));
        }
    }
    let mut compared = ViewVerified {
        at: "replicas".to_owned(),
        read: 1.0,
        is_done: true,
        ..ViewVerified::default()
    };
    for (partition, sums) in all {
        let mut is_compared = false;
        for (n, (at, sum)) in sums.iter().enumerate() {
            let before = sums[..n]
                .iter()
                .find(|(_, other)| other.position == sum.position);
            let Some((other, first)) = before else {
                continue;
            };
            is_compared = true;
            if first.rows == sum.rows {
                continue;
            }
            compared.differences += 1;
            if compared.examples.len() < NAMED {
                compared.examples.push(ViewDifference {
                    of: format!("partition {partition}"),
                    what: format!("{at} and {other} have other rows of the same documents"),
                });
            }
        }
        if is_compared {
            compared.documents += 1;
        } else {
            compared.changed += 1;
        }
    }
    (compared.documents > 0).then_some(compared)
}

#[cfg(test)]
#[path = "replicas_tests.rs"]
mod tests;
