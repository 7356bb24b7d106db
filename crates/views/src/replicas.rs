//! Whether the replicas of a view have the same rows: each adds its documents up, and sums of one position must agree.

use std::collections::BTreeMap;

use dunlin_proto::api::{PartitionSum, ViewDifference, ViewVerified};

/// Differences are named up to so many.
const NAMED: usize = 10;

/// A sum of 64 bits over bytes.
pub(crate) fn sum_of(parts: &[&[u8]]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    // Sums are added up: those of like bytes must not be alike.
    let mixed = (sum ^ sum >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

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
