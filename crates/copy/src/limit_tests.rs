#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn over_any_stretch_no_more_than_the_limit_and_a_burst_goes_out() {
    const BYTES_PER_S: u64 = 1_000_000;
    let limit = Limit::new(BYTES_PER_S);
    let began = Instant::now();
    let (mut now, mut sent) = (began, 0u64);
    for step in 0..1_000u64 {
        let bytes = 1 + step * 37 % 9_000;
        now += limit.take(bytes as usize, now);
        sent += bytes;
        // Now and then the sender has nothing to send for a while.
        if step % 100 == 99 {
            now += Duration::from_secs(3);
        }
        let allowed = (now - began).as_secs_f64() * BYTES_PER_S as f64;
        assert!(sent as f64 <= allowed + 0.1 * BYTES_PER_S as f64 + 9_000.0);
    }
    let idle_s = 30.0;
    let busy_s = (now - began).as_secs_f64() - idle_s;
    let needed_s = sent as f64 / BYTES_PER_S as f64;
    assert!(
        busy_s <= needed_s && needed_s - busy_s <= 1.1,
        "{busy_s} {needed_s}"
    );
}
