use super::*;

#[test]
fn the_age_is_that_of_the_home_furthest_behind() {
    let at = |ms| Some(Version::new(ms, 0));
    // The time, when the link was made, the version of each home, the age.
    let cases: [(u64, u64, &[Option<Version>], u64); 7] = [
        (1_000, 900, &[], 100),
        (1_000, 900, &[None], 100),
        (1_000, 900, &[at(990)], 10),
        (1_000, 900, &[at(990), at(950)], 50),
        (1_000, 900, &[at(990), None], 100),
        // The keyspace held nothing there before the link was made.
        (1_000, 900, &[at(200)], 100),
        (1_000, 900, &[at(2_000)], 0),
    ];
    for (now, created, delivered, expected) in cases {
        let age = age_ms(now, created, delivered.iter().copied());
        assert_eq!(age, expected, "{now} {created} {delivered:?}");
    }
}

#[test]
fn a_link_is_late_after_half_the_grace_and_broken_after_three_quarters() {
    let cases = [
        (0, Age::Good),
        (500, Age::Good),
        (501, Age::Late),
        (750, Age::Late),
        (751, Age::Broken),
        (u64::MAX, Age::Broken),
    ];
    for (age, expected) in cases {
        assert_eq!(of(age, 1_000), expected, "{age}");
    }
}
