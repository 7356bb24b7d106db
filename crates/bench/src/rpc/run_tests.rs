#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::super::case::Processors;
use super::super::case::cases;
use super::*;

#[test]
fn every_case_calls_and_is_answered() {
    let times = Times {
        warm: Duration::from_millis(2),
        window: Duration::from_millis(10),
    };
    for case in cases() {
        let figures = run(case, times).unwrap();
        assert!(figures.per_s > 0.0, "{case:?}: {figures:?}");
        assert!(figures.p50_us > 0.0, "{case:?}: {figures:?}");
    }
}

#[test]
fn a_server_that_does_not_start_is_named() {
    let failed = two_threads::<()>(
        Processors::Two,
        |_| Err(io::Error::other("no address")),
        |(), _| Ok(None),
    );
    assert_eq!(failed.unwrap_err().to_string(), "no address");
}
