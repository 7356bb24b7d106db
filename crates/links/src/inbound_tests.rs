use dunlin_proto::api::HomeProgress;

use super::*;

const GRACE_MS: u64 = 800;

/// Of each home, since when and up to when it is delivered, in milliseconds.
fn table(homes: &[(&str, u64, u64)]) -> Homes {
    let at = |ms| HexVersion(Version::new(ms, 0));
    let of = |(home, since, delivered): &(&str, u64, u64)| {
        let progress = HomeProgress {
            since: at(*since),
            delivered: (*delivered > 0).then(|| at(*delivered)),
            is_ended: false,
        };
        ((*home).to_owned(), progress)
    };
    homes.iter().map(of).collect()
}

#[test]
fn the_age_counts_from_the_last_report_and_broken_stays() {
    // Reports with their time; when it is checked; the age then.
    type Report = (u64, &'static [(&'static str, u64, u64)]);
    let cases: [(&[Report], u64, Age); 11] = [
        (&[], 10_000, Age::Good),
        (&[], 10_400, Age::Good),
        (&[], 10_401, Age::Late),
        (&[], 10_601, Age::Broken),
        (&[(10_300, &[("a", 10_000, 10_200)])], 10_601, Age::Late),
        (&[(10_300, &[("a", 10_000, 10_200)])], 10_801, Age::Broken),
        // The home furthest behind counts; that of others than the sender has until seven eighths.
        (
            &[(10_300, &[("a", 10_000, 10_290), ("b", 9_900, 0)])],
            10_600,
            Age::Late,
        ),
        (
            &[(10_300, &[("a", 10_000, 10_290), ("b", 9_900, 0)])],
            10_601,
            Age::Broken,
        ),
        // Neither a late report nor an empty one takes anything back.
        (
            &[
                (10_300, &[("a", 10_000, 10_290)]),
                (10_400, &[("a", 10_000, 10_000)]),
            ],
            10_690,
            Age::Good,
        ),
        (
            &[(10_300, &[("a", 10_000, 10_290)]), (10_400, &[])],
            10_690,
            Age::Good,
        ),
        // The age of a home begins when the first report says.
        (
            &[
                (10_300, &[("a", 10_000, 10_290), ("b", 9_900, 0)]),
                (10_301, &[("b", 10_300, 0)]),
            ],
            10_601,
            Age::Broken,
        ),
    ];
    for (reports, now_ms, expected) in cases {
        let link = reports
            .iter()
            .fold(Inbound::new(10_000), |link, (at_ms, homes)| {
                link.report(("ab", ""), &table(homes), (*at_ms, 0))
            });
        let (checked, age) = link.check("a", now_ms, GRACE_MS);
        assert_eq!(age.age, expected, "{reports:?} at {now_ms}");
        let fresh = table(&[("a", now_ms, now_ms), ("b", now_ms, now_ms)]);
        let late = checked.report(("ab", ""), &fresh, (now_ms, 0));
        // Whatever grace is set later.
        let (_, again) = late.check("a", now_ms, GRACE_MS * 100);
        let expected = match expected {
            Age::Broken => Age::Broken,
            Age::Good | Age::Late => Age::Good,
        };
        assert_eq!(
            again.age, expected,
            "{reports:?} at {now_ms}, after a report"
        );
    }
}

#[test]
fn reports_are_kept_until_all_replicas_have_what_they_speak_of() {
    let report = |link: Inbound, n: u64| {
        link.report(("ab", "p"), &table(&[("a", 0, n)]), (n * 10_000, 5_000))
    };
    let link = (1..=20).fold(Inbound::new(0), report);
    let cases = [
        (130_000, None),
        (130_001, Some(13)),
        (141_000, Some(14)),
        (150_000, Some(14)),
        (u64::MAX, Some(20)),
    ];
    for (before_ms, expected) in cases {
        let delivered = link.delivered("a", before_ms).map(Version::millis);
        assert_eq!(delivered, expected, "{before_ms}");
    }
    assert_eq!(link.delivered("b", u64::MAX), None);
    let back: Inbound =
        serde_json::from_str(&serde_json::to_string(&link).unwrap_or_default()).unwrap_or_default();
    assert_eq!(back, link);
    // However fast they come.
    let often = |link: Inbound, n| link.report(("ab", ""), &table(&[]), (n, 0));
    let many = (0..200).fold(Inbound::new(0), often);
    assert_eq!(many.tables.len(), REPORTS);
}

#[test]
fn a_dropped_link_ends_and_stays_so() {
    let link = Inbound::new(10_000);
    assert_eq!((link.ended_ms(), link.is_dropped()), (None, false));
    let link = link.drop_link(10_100).drop_link(10_200);
    assert_eq!((link.ended_ms(), link.is_dropped()), (Some(10_100), true));
    // It is no longer broken by age; one that was keeps its time.
    let (link, _) = link.check("a", 99_000, GRACE_MS);
    assert_eq!(link.ended_ms(), Some(10_100));
    let (broken, _) = Inbound::new(10_000).check("a", 20_000, GRACE_MS);
    assert_eq!(broken.drop_link(30_000).ended_ms(), Some(20_000));
}
