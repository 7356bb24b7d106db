#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn rates_and_times_as_people_write_them() {
    for (text, bytes) in [
        ("100MB/s", 100_000_000),
        ("1.5GiB/s", 3 << 29),
        ("64 KiB", 64 << 10),
        ("1000", 1000),
    ] {
        assert_eq!(text.parse(), Ok(Rate(bytes)), "{text}");
    }
    for text in ["", "fast", "100Mbit/s", "-1MB", "0", "1.2.3MB"] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
    for (text, millis) in [
        ("60s", 60_000),
        ("500ms", 500),
        ("2m", 120_000),
        ("7", 7_000),
    ] {
        assert_eq!(
            text.parse(),
            Ok(Span(Duration::from_millis(millis))),
            "{text}"
        );
    }
    for text in ["", "soon", "-1s", "1d"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}

#[test]
fn a_target_with_a_port_is_a_receiver() {
    let receiver = |text: &str| matches!(target(text), Target::Receiver(_));
    for text in ["other:7400", "127.0.0.1:1", "[::1]:7400"] {
        assert!(receiver(text), "{text}");
    }
    for text in ["/data/db", "db", "./other:7400", ":7400", "c:db", "a:70000"] {
        assert!(!receiver(text), "{text}");
    }
}
