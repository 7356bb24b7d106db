#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::super::case::cases;
use super::*;

#[test]
fn every_case_of_one_process_sends() {
    let times = Times {
        warm: Duration::from_millis(2),
        window: Duration::from_millis(80),
    };
    let own = |case: &Messages| !matches!(case.sender, Sender::Iperf { .. });
    for case in cases().into_iter().filter(own) {
        let figures = run(case, times).unwrap();
        assert!(figures.per_s > 0.0, "{case:?}: {figures:?}");
        assert!(figures.p50_us > 0.0, "{case:?}: {figures:?}");
    }
}

#[test]
fn a_call_is_five_messages() {
    let five = CallFigures {
        per_s: 10.0,
        p50_us: 3.0,
        client_us: 5.0,
        server_us: 10.0,
        ..CallFigures::default()
    };
    let each = of_each(&five);
    assert_eq!((each.per_s, each.p50_us), (50.0, 3.0));
    assert_eq!((each.sender_us, each.receiver_us), (1.0, 2.0));
}
