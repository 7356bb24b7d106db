#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::copy::samples::{case, setting};

fn met(targets: &[Target], what: &str) -> Option<bool> {
    let mut targets = targets.iter();
    let found = targets.find(|target| target.what.contains(what));
    found.unwrap_or_else(|| panic!("no target {what}")).met
}

#[test]
fn ratios_are_of_the_same_round() {
    // The second round was slow for all.
    let targets = evaluate(
        &[case(
            256,
            &[
                (Way::Files, &[850.0, 425.0, 850.0]),
                (Way::Rsync, &[1000.0, 500.0, 1000.0]),
                (Way::Ingest, &[600.0, 300.0, 580.0]),
                (Way::Insert, &[199.0, 99.0, 191.0]),
            ],
        )],
        None,
        &[],
    );
    assert_eq!(targets[0].measured, "0.85");
    assert_eq!(
        met(&targets, "files over rsync, values of 256 B"),
        Some(true)
    );
    assert_eq!(met(&targets, "ingest over insert"), Some(true));
    assert_eq!(met(&targets, "256 B, median"), Some(true));
    assert_eq!(met(&targets, "256 B, slowest"), Some(true));
    assert_eq!(met(&targets, "128 B, slowest"), None);
}

#[test]
fn what_is_missed_is_told() {
    let targets = evaluate(
        &[
            case(128, &[(Way::Ingest, &[79.0, 400.0, 400.0])]),
            case(
                256,
                &[
                    (Way::Files, &[700.0]),
                    (Way::Rsync, &[1000.0]),
                    (Way::Ingest, &[249.0]),
                    (Way::Insert, &[100.0]),
                ],
            ),
        ],
        Some(&case(256, &[(Way::Insert, &[10.0])])),
        &[setting(100), setting(257)],
    );
    assert_eq!(met(&targets, "files over rsync, values of 128 B"), None);
    assert_eq!(
        met(&targets, "files over rsync, values of 256 B"),
        Some(false)
    );
    for missed in ["ingest over insert", "256 B, median", "128 B, slowest"] {
        assert_eq!(met(&targets, missed), Some(false), "{missed}");
    }
    assert_eq!(met(&targets, "memory of the sender"), Some(false));
    assert_eq!(met(&targets, "memory of the receiver"), Some(false));
    assert!(targets.iter().any(|target| target.measured == "257 MB"));
}
