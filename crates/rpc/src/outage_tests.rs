use super::*;

#[test]
fn one_that_lasts_is_told_once_and_a_short_one_never() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut outage = Outage::default();
    let told: Vec<u64> = (0..100)
        .map(|step| step * 100)
        .filter(|ms| outage.lasts(at(*ms)))
        .collect();
    assert_eq!(told, [3_000]);
    outage.is_over();
    assert!(!outage.lasts(at(20_000)));
    assert!(!outage.lasts(at(22_900)));
    outage.is_over();
    assert!(!outage.lasts(at(23_100)));
    assert!(outage.lasts(at(26_100)));
}
