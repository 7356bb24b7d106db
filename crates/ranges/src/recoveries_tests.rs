#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn nothing_is_done_unless_loss_is_accepted_and_one_thing_is_wanted() {
    let keep = parse(br#"{"keep": "n1", "accept_data_loss": true}"#).unwrap();
    let right = Wish {
        keep: Some("n1".to_owned()),
        new: false,
        accept_data_loss: true,
    };
    assert_eq!(keep, right);
    assert!(
        parse(br#"{"new": true, "accept_data_loss": true}"#)
            .unwrap()
            .new
    );
    for (body, why) in [
        (r#"{"keep": "n1"}"#, "without accept_data_loss"),
        (r#"{"accept_data_loss": true}"#, "either a node"),
        (
            r#"{"keep": "n1", "new": true, "accept_data_loss": true}"#,
            "either a node",
        ),
        (r#"{"kept": "n1", "accept_data_loss": true}"#, "the body is"),
        ("", "the body is"),
    ] {
        let refused = parse(body.as_bytes()).unwrap_err();
        assert!(refused.line.contains(why), "{body}: {}", refused.line);
    }
}

#[test]
fn a_recovery_takes_no_timestamps_ahead_but_the_oracles() {
    assert_eq!(floor_ms("_oracle", 1_000, 10_000), 21_000);
    assert_eq!(floor_ms("bank", 1_000, 10_000), 0);
}
