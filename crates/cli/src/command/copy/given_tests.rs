#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn rates_and_times_as_people_write_them() {
    for (text, bytes) in [
        ("100MB/s", 100_000_000),
        ("1.5GiB/s", 3 << 29),
        ("64 KiB", 64 << 10),
        ("250kB/s", 250_000),
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
fn a_target_with_a_port_is_a_receiver_and_one_with_a_scheme_a_keyspace() {
    let receiver = |text: &str| matches!(target(text), Ok(Target::Receiver(_)));
    for text in ["other:7400", "127.0.0.1:1", "[::1]:7400"] {
        assert!(receiver(text), "{text}");
    }
    for text in ["/data/db", "db", "./other:7400", ":7400", "c:db", "a:70000"] {
        assert!(matches!(target(text), Ok(Target::Directory(_))), "{text}");
    }
    for text in ["http://127.0.0.1:8080/birds", "http://a:1,http://b:2/birds"] {
        assert!(matches!(target(text), Ok(Target::Keyspace(_))), "{text}");
    }
    for text in ["http://127.0.0.1:8080", "https://a:1", "ftp://a/b"] {
        assert!(target(text).is_err(), "{text}");
    }
}
