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
            is_partial: false,
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
                link.report("ab", "", &table(homes), *at_ms)
            });
        let (checked, age) = link.check("a", now_ms, GRACE_MS);
        assert_eq!(age.age, expected, "{reports:?} at {now_ms}");
        let fresh = table(&[("a", now_ms, now_ms), ("b", now_ms, now_ms)]);
        let late = checked.report("ab", "", &fresh, now_ms);
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
fn the_last_four_reports_are_kept_with_their_times() {
    let link = (1..10).fold(Inbound::new(0), |link, n| {
        link.report("ab", "p", &table(&[("a", 0, n)]), n * 10)
    });
    let cases = [
        (60, None),
        (61, Some(6)),
        (71, Some(7)),
        (80, Some(7)),
        (u64::MAX, Some(9)),
    ];
    for (before_ms, expected) in cases {
        let delivered = link.delivered("a", before_ms).map(Version::millis);
        assert_eq!(delivered, expected, "{before_ms}");
    }
    assert_eq!(link.delivered("b", u64::MAX), None);
    let back: Inbound =
        serde_json::from_str(&serde_json::to_string(&link).unwrap_or_default()).unwrap_or_default();
    assert_eq!(back, link);
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
