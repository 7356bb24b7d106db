use super::*;
use crate::report::samples;

#[test]
fn a_ratio_needs_two_held_rates_but_each_rate_is_shown() {
    let mut report = samples::report();
    assert!(ratios(&report).contains(" 0.62 "));
    report.cells[1].confirmed = false;
    let text = ratios(&report);
    let row = text
        .lines()
        .find(|line| line.contains("PUT"))
        .unwrap_or_default();
    assert!(
        row.contains(" 40000 ") && row.contains("25000, not held"),
        "{row}"
    );
    assert!(row.contains("not both held"), "{row}");
    assert!(rates(&report).contains(" no "));
}

#[test]
fn the_end_shows_rates_ratios_and_targets() {
    let mut report = samples::report();
    report.targets = crate::quorum::target::evaluate(&report.cells, &report.idle, &[]);
    let text = render(&report);
    for wanted in [
        "PUT 3 copies, 4 connections",
        "not measured",
        " yes |",
        "100 MB",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn numbers_show_their_spread_only_when_there_is_one() {
    assert_eq!(number(Spread::of([2.0, 1.0, 4.0])), "2.0 (1.0 to 4.0)");
    assert_eq!(number(Spread::of([2.0])), "2.0");
    assert_eq!(
        (ms(1_234.0), percent(0.95)),
        ("1.23 ms".into(), "95.00 %".into())
    );
}
