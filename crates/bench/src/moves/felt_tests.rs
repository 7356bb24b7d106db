use super::*;

fn answered(at_ms: u64, latency_us: u64) -> Answered {
    Answered {
        intended_ns: at_ms * 1_000_000,
        latency_ns: latency_us * 1_000,
        is_expected: latency_us < 5_000,
    }
}

#[test]
fn percentiles_are_those_of_the_nearest_rank() {
    let answers: Vec<Answered> = (1..=1_000).rev().map(|us| answered(1, us)).collect();
    let felt = Felt::of(&answers);
    assert_eq!((felt.requests, felt.failed), (1_000, 0));
    assert_eq!((felt.latency_us_p50, felt.latency_us_p99), (500, 990));
    assert_eq!((felt.latency_us_p999, felt.latency_us_max), (999, 1_000));
    let one = Felt::of(&answers[..1]);
    assert_eq!((one.latency_us_p50, one.latency_us_max), (1_000, 1_000));
    assert_eq!(Felt::of(&[]).latency_us_max, 0);
}

#[test]
fn requests_count_where_they_were_meant_to_start() {
    let answers = [answered(900, 10), answered(2_000, 9_000), answered(100, 30)];
    let seconds = by_second(&answers);
    let counts: Vec<(u64, u64)> = seconds.iter().map(|s| (s.at_s, s.felt.requests)).collect();
    assert_eq!(counts, [(0, 2), (1, 0), (2, 1)]);
    assert_eq!(
        (seconds[0].felt.latency_us_max, seconds[2].felt.failed),
        (30, 1)
    );
    let part = Felt::between(&answers, 0.9, 2.0);
    assert_eq!((part.requests, part.latency_us_max), (1, 10));
}
