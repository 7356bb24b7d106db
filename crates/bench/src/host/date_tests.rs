use super::*;

#[test]
fn known_moments() {
    assert_eq!(utc(0), "1970-01-01 00:00 UTC");
    assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
    assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(utc(1_795_218_646), "2026-11-20 23:50 UTC");
    assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
}
