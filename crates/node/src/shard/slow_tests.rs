use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn writes_enter_as_fast_as_they_may_and_none_waits_for_long() {
    let slow = Slow::default();
    let now = Instant::now();
    slow.look(now, 0, None);
    assert!(!slow.is_on());
    // 10 MB came in a second, and a replica falls back.
    slow.look(now + SECOND, 10_000_000, Some(true));
    assert!(slow.is_on());
    let now = now + SECOND;
    assert_eq!(slow.wait(800_000, now), Duration::ZERO);
    assert_eq!(slow.wait(800_000, now), SECOND / 10);
    assert_eq!(slow.wait(80_000_000, now), SECOND / 5);
    assert_eq!(slow.wait(1, now), SLOW_WAIT_MAX);
    assert_eq!(slow.wait(1, now + 2 * SECOND), Duration::ZERO);
    // It still falls back, and falls back no more.
    slow.look(now + SECOND, 20_000_000, Some(true));
    assert_eq!(slow.bytes_per_s.get(), 10_000_000.0 * SLOWER * SLOWER);
    slow.look(now + SECOND, 20_000_000, Some(false));
    assert!(slow.bytes_per_s.get() > 10_000_000.0 * SLOWER * SLOWER);
    slow.look(now + 2 * SECOND, 30_000_000, None);
    assert!(!slow.is_on());
}

#[test]
fn some_writes_enter_whatever_a_replica_does() {
    let slow = Slow::default();
    let now = Instant::now();
    for _ in 0..1_000 {
        slow.look(now, 0, Some(true));
    }
    assert_eq!(slow.bytes_per_s.get(), SLOW_BYTES_PER_S_MIN);
}
