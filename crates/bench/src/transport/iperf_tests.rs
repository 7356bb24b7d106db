#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_it_says_is_messages_and_their_cpu() {
    let said = br#"{"end": {"sum_received": {"bits_per_second": 8192000.0, "bytes": 1},
        "cpu_utilization_percent": {"host_total": 50.0, "host_user": 1.0, "remote_total": 100.0}}}"#;
    let figures = figures(said).unwrap();
    assert_eq!(figures.per_s, 1_000.0);
    assert_eq!((figures.sender_us, figures.receiver_us), (500.0, 1_000.0));
}

#[test]
fn anything_else_is_an_error() {
    assert!(figures(b"{\"error\": \"unable to connect\"}").is_err());
}
