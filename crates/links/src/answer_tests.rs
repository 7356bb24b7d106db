#![allow(clippy::panic)]
use super::*;

#[test]
fn each_status_says_what_to_do() {
    use LinkState::{Broken, Clock, TargetGone, Waiting};
    // Status, reason, the next step, the state of the link meanwhile.
    let cases = [
        (408, "", "restart", Waiting),
        (429, "", "again", Waiting),
        (500, "", "again", Waiting),
        (503, "", "again", Waiting),
        (504, "", "again", Waiting),
        (507, "", "again", Waiting),
        (409, "clock", "again", Clock),
        (409, "keyspace", "stop", TargetGone),
        (404, "", "stop", TargetGone),
        (409, "broken", "stop", Broken),
        (409, "dropped", "stop", Broken),
        (409, "home", "report", Waiting),
        (409, "same_number", "stop", Waiting),
        (400, "", "stop", Waiting),
        (401, "", "stop", Waiting),
        (403, "", "stop", Waiting),
        (413, "", "stop", Waiting),
    ];
    for (status, reason, expected, state) in cases {
        let body = format!(r#"{{"error": "so it is", "reason": "{reason}"}}"#);
        let (step, trouble) = match next(status, body.as_bytes()) {
            Next::Again(trouble) => ("again", trouble),
            Next::Report(trouble) => ("report", trouble),
            Next::Restart(trouble) => ("restart", trouble),
            Next::Stop(trouble) => ("stop", trouble),
            Next::GoOn(taken) => panic!("{status}: {taken:?}"),
        };
        assert_eq!((step, trouble.state), (expected, state), "{status}");
        let line = format!("the target answers {status}: so it is");
        assert_eq!(trouble.line, line);
    }
}

#[test]
fn an_acknowledgement_is_one_only_where_it_can_be_read() {
    let taken = next(
        200,
        br#"{"clock_ms": 7, "logged": 3, "held": 1, "older": 2, "own": 0}"#,
    );
    let Next::GoOn(taken) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!((taken.logged, taken.held, taken.older), (3, 1, 2));
    for body in ["", "<html>", "[]", "{}"] {
        let step = next(200, body.as_bytes());
        assert!(matches!(step, Next::Stop(_)), "{body}: {step:?}");
    }
    let proxy = next(502, b"<html>");
    let expected = Trouble::waiting("the target answers 502");
    assert_eq!(proxy, Next::Again(expected));
}
