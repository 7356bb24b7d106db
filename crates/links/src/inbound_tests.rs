use super::*;

const GRACE_MS: u64 = 1_000;

fn table(pairs: &[(&str, u64)]) -> BTreeMap<String, Version> {
    let pairs = pairs.iter();
    pairs
        .map(|(home, ms)| ((*home).to_owned(), Version::new(*ms, 0)))
        .collect()
}

#[test]
fn the_age_counts_from_the_last_report_and_broken_stays() {
    // Reports with their time; when it is checked; the age then.
    type Report = (u64, &'static [(&'static str, u64)]);
    let cases: [(&[Report], u64, Age); 9] = [
        (&[], 10_000, Age::Good),
        (&[], 10_500, Age::Good),
        (&[], 10_501, Age::Late),
        (&[], 10_751, Age::Broken),
        (&[(10_400, &[("a", 10_300)])], 10_751, Age::Good),
        (&[(10_400, &[("a", 10_300)])], 11_051, Age::Broken),
        // The home furthest behind counts, and a late report takes nothing back.
        (
            &[(10_400, &[("a", 10_390), ("b", 10_100)])],
            10_700,
            Age::Late,
        ),
        (
            &[(10_400, &[("a", 10_390)]), (10_500, &[("a", 10_100)])],
            10_800,
            Age::Good,
        ),
        (
            &[(10_400, &[("a", 10_390)]), (10_500, &[])],
            10_800,
            Age::Good,
        ),
    ];
    for (reports, now_ms, expected) in cases {
        let link = reports
            .iter()
            .fold(Inbound::new(10_000), |link, (at_ms, pairs)| {
                link.report("ab", &table(pairs), *at_ms)
            });
        let (checked, age) = link.check(now_ms, GRACE_MS);
        assert_eq!(age, expected, "{reports:?} at {now_ms}");
        let late = checked.report("ab", &table(&[("a", now_ms), ("b", now_ms)]), now_ms);
        let (_, again) = late.check(now_ms, GRACE_MS);
        let expected = match expected {
            Age::Broken => Age::Broken,
            Age::Good | Age::Late => Age::Good,
        };
        assert_eq!(again, expected, "{reports:?} at {now_ms}, after a report");
    }
}

#[test]
fn the_last_four_reports_are_kept() {
    let link = (0..9).fold(Inbound::new(0), |link, n| {
        link.report("ab", &table(&[("a", n)]), n)
    });
    let seen: Vec<u64> = link.tables.iter().map(|table| table.seen_ms).collect();
    assert_eq!(seen, [5, 6, 7, 8]);
    let back: Inbound =
        serde_json::from_str(&serde_json::to_string(&link).unwrap_or_default()).unwrap_or_default();
    assert_eq!(back, link);
}
