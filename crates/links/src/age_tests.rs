use dunlin_entry::Version;
use dunlin_proto::api::HexVersion;

use super::*;

/// Since when, and up to when a home is delivered, in milliseconds.
fn home(since: u64, delivered: Option<u64>) -> HomeProgress {
    let at = |ms| HexVersion(Version::new(ms, 0));
    HomeProgress {
        since: at(since),
        delivered: delivered.map(at),
        is_ended: false,
    }
}

#[test]
fn the_age_is_that_of_the_home_furthest_behind() {
    // The homes, and the age with the home that it depends on.
    type Case<'c> = (&'c [(&'c str, u64, Option<u64>)], u64, Option<&'c str>);
    let cases: [Case<'_>; 7] = [
        (&[], 100, None),
        (&[("a", 900, None)], 100, Some("a")),
        (&[("a", 900, Some(990))], 10, Some("a")),
        (
            &[("a", 900, Some(990)), ("b", 900, Some(950))],
            50,
            Some("b"),
        ),
        (&[("a", 900, Some(990)), ("b", 600, None)], 400, Some("b")),
        // The keyspace held nothing there before the link was made.
        (&[("a", 900, Some(200))], 100, Some("a")),
        (&[("a", 900, Some(2_000))], 0, Some("a")),
    ];
    for (homes, age_ms, oldest) in cases {
        let table: Homes = homes
            .iter()
            .map(|(name, since, delivered)| ((*name).to_owned(), home(*since, *delivered)))
            .collect();
        let checked = check(1_000, 10_000, ("a", 900), &table);
        let found = (checked.age_ms, checked.home.as_deref());
        assert_eq!(found, (age_ms, oldest), "{homes:?}");
    }
}

#[test]
fn a_link_is_late_after_half_the_grace_and_broken_after_three_quarters() {
    // The age, whether it is of the sender's own entries.
    let cases = [
        (0, true, Age::Good),
        (400, true, Age::Good),
        (401, true, Age::Late),
        (600, true, Age::Late),
        (601, true, Age::Broken),
        (u64::MAX, true, Age::Broken),
        (400, false, Age::Good),
        (601, false, Age::Late),
        (700, false, Age::Late),
        (701, false, Age::Broken),
    ];
    for (age, is_senders, expected) in cases {
        assert_eq!(of(age, 800, is_senders), expected, "{age} {is_senders}");
    }
    // A broken home counts before an older one that is late.
    let homes = [
        ("a".to_owned(), home(0, Some(390))),
        ("b".to_owned(), home(0, Some(310))),
    ];
    let checked = check(1_000, 800, ("a", 0), &homes.into());
    assert_eq!(
        (checked.age, checked.home.as_deref()),
        (Age::Broken, Some("a"))
    );
}
