use super::*;

#[test]
fn so_much_must_pass_in_every_time() {
    let begun = Instant::now();
    let time = Duration::from_secs(10);
    let mut pace = Pace::begin(begun, time);
    assert_eq!(pace.until(), begun + time);
    pace.passed(PACE_BYTES - 1);
    assert!(!pace.is_kept());
    pace.passed(1);
    assert!(pace.is_kept());
    let later = begun + time;
    assert!(pace.goes_on(later));
    // What came before does not count again.
    assert_eq!(pace.until(), later + time);
    assert!(!pace.is_kept());
    pace.passed(PACE_BYTES - 1);
    assert!(!pace.goes_on(later + time));
}
