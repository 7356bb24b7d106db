#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

/// All sets of `ack` among the first `from` of five replicas, as bits.
fn sets(ack: u8, from: u8) -> impl Iterator<Item = u32> {
    (0u32..1 << from).filter(move |set| set.count_ones() == u32::from(ack))
}

#[test]
fn agrees_with_trying_all_sets() {
    for from in 1..=5 {
        for ack in 1..=from {
            for other_from in 1..=5 {
                for other_ack in 1..=other_from {
                    let always =
                        sets(ack, from).all(|a| sets(other_ack, other_from).all(|b| a & b != 0));
                    assert_eq!(
                        meets(ack, from, other_ack, other_from),
                        always,
                        "{ack} of {from} and {other_ack} of {other_from}"
                    );
                }
            }
        }
    }
}
