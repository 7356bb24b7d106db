#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn what_is_behind_counts_by_the_segments_it_is_in() {
    let segment = |first_index, last_index, bytes| Segment {
        first_index,
        last_index,
        bytes,
    };
    // Ten records of 100 bytes, ten of 10, one that was just begun.
    let segments = [
        segment(1, 10, 1_000),
        segment(11, 20, 100),
        segment(21, 21, 7),
    ];
    for (index, expected) in [
        (0, 1_107),
        (5, 607),
        (10, 107),
        (15, 57),
        (20, 7),
        (21, 0),
        (99, 0),
    ] {
        assert_eq!(bytes_behind(&segments, index), expected, "behind {index}");
    }
    // What of the log is gone counts for nothing.
    assert_eq!(bytes_behind(&segments[1..], 3), 107);
    assert_eq!(bytes_behind(&[], 3), 0);
    // A segment without records, and sizes near the end of the numbers.
    assert_eq!(bytes_behind(&[segment(5, 4, 9)], 0), 0);
    assert_eq!(bytes_behind(&[segment(1, 2, u64::MAX)], 1), u64::MAX / 2);
}

#[tokio::test(start_paused = true)]
async fn latencies_are_those_of_the_last_seconds() {
    let gauge = Gauge::default();
    assert_eq!(gauge.latency_us(), [0; 3]);
    gauge.tick(Instant::now());
    gauge.record_latency(1_000);
    assert!(gauge.latency_us()[2].abs_diff(1_000) < 20, "told at once");
    tokio::time::advance(WINDOW).await;
    gauge.tick(Instant::now());
    for _ in 0..100 {
        gauge.record_latency(50);
    }
    tokio::time::advance(WINDOW).await;
    gauge.tick(Instant::now());
    assert!(
        gauge.latency_us()[2].abs_diff(50) < 2,
        "the slow one is long past"
    );
    // At rest they stay.
    tokio::time::advance(10 * WINDOW).await;
    gauge.tick(Instant::now());
    assert!(gauge.latency_us()[0].abs_diff(50) < 2);
}
