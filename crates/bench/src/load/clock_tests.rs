#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn four_connections_are_evenly_spaced() {
    let schedule = Schedule::new(4000.0, 4);
    let mut starts: Vec<u64> = (0..4)
        .flat_map(|connection| (0..3).map(move |k| schedule.intended_ns(connection, k)))
        .collect();
    starts.sort_unstable();
    let expected: Vec<u64> = (0..12).map(|k| k * 250_000).collect();
    assert_eq!(starts, expected);
}

#[test]
fn late_requests_keep_their_intended_time() {
    // The thousandth request is meant for 1000 intervals whatever happened before it.
    assert_eq!(Schedule::new(1000.0, 1).intended_ns(0, 1000), 1_000_000_000);
}

proptest! {
    #[test]
    fn count_agrees_with_enumeration(rate in 1.0f64..5000.0, connections in 1usize..9,
                                     from in 0u64..200_000_000, length in 0u64..200_000_000) {
        let schedule = Schedule::new(rate, connections);
        let to = from + length;
        let mut expected = 0;
        for connection in 0..connections {
            for sequence in 0.. {
                let start = schedule.intended_ns(connection, sequence);
                if start >= to { break; }
                if start >= from { expected += 1; }
            }
        }
        prop_assert_eq!(schedule.count(from, to), expected);
    }

    #[test]
    fn the_rate_is_kept_over_a_second(rate in 10.0f64..100_000.0, connections in 1usize..300) {
        let count = Schedule::new(rate, connections).count(0, 1_000_000_000);
        prop_assert!((count as f64 - rate).abs() <= 1.0 + connections as f64 / 2.0, "{count}");
    }
}
