use super::*;

#[test]
fn pauses_grow_and_most_failures_are_only_counted() {
    let begun = Instant::now();
    let mut failed = FailedAccepts::default();
    let mut now = begun;
    let mut told = Vec::new();
    let mut count = 0;
    while now - begun < Duration::from_secs(60) {
        let (pause, tell) = failed.failed(now);
        assert!((PAUSE_MIN..=PAUSE_MAX).contains(&pause));
        count += 1;
        told.extend(tell);
        now += pause;
    }
    assert!(count < 70, "{count} attempts in a minute");
    assert_eq!((told.len(), told[0]), (6, 1));
    assert!(told.iter().sum::<u64>() <= count);
    // One that passes begins anew, but tells no sooner.
    failed.passed();
    assert_eq!(
        failed.failed(begun + Duration::from_secs(55)),
        (PAUSE_MIN, None)
    );
}
