#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn sizes_are_read_as_written() {
    for (text, bytes) in [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("64KiB", 65536),
        ("16 MiB", 16 << 20),
        ("1gib", 1 << 30),
        ("2TiB", 2 << 40),
    ] {
        assert_eq!(text.parse::<Size>().unwrap(), Size(bytes), "{text}");
    }
    for wrong in [
        "",
        "MiB",
        "1.5MiB",
        "-1",
        "16MB",
        "16M",
        "99999999TiB",
        "1 2",
    ] {
        assert!(wrong.parse::<Size>().is_err(), "{wrong}");
    }
}

#[test]
fn counts_and_bytes_for_people() {
    assert_eq!(
        [grouped(0), grouped(999), grouped(1000), grouped(1_234_567)],
        ["0", "999", "1,000", "1,234,567"]
    );
    assert_eq!(
        [
            rounded(0.0),
            rounded(1023.0),
            rounded(1536.0),
            rounded(3.5e9)
        ],
        ["0 B", "1023 B", "1.5 KiB", "3.3 GiB"]
    );
}

proptest! {
    #[test]
    fn a_printed_size_is_read_back(bytes: u64) {
        prop_assert_eq!(Size(bytes).to_string().parse::<Size>().unwrap(), Size(bytes));
    }
}

#[test]
fn latencies_are_read_and_written_back() {
    for (text, us, shown) in [
        ("20ms", 20_000, "20ms"),
        ("500us", 500, "500us"),
        ("1500ms", 1_500_000, "1500ms"),
        ("2 s", 2_000_000, "2s"),
        ("1000us", 1_000, "1ms"),
    ] {
        let latency: Latency = text.parse().unwrap();
        assert_eq!((latency.0, latency.to_string().as_str()), (us, shown));
        assert_eq!(shown.parse(), Ok(latency));
    }
    for wrong in [
        "",
        "20",
        "ms",
        "0ms",
        "-1ms",
        "1.5ms",
        "2m",
        "99999999999999999999s",
    ] {
        let error = wrong.parse::<Latency>().unwrap_err();
        assert!(error.contains("is not a latency"), "{wrong:?} gave {error}");
    }
}

#[test]
fn delays_are_read_and_written() {
    for (text, ms, again) in [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("1500ms", 1_500, "1500ms"),
        ("90 s", 90_000, "90s"),
        ("60s", 60_000, "1min"),
        ("15min", 900_000, "15min"),
        ("1h", 3_600_000, "1h"),
        ("48h", 172_800_000, "2d"),
    ] {
        let delay: Delay = text.parse().unwrap();
        assert_eq!((delay.0, delay.to_string().as_str()), (ms, again));
        assert_eq!(again.parse::<Delay>().unwrap(), delay);
    }
    for wrong in ["", "5", "h", "-1s", "1w", "1.5h", "99999999999d", "40000d"] {
        let error = wrong.parse::<Delay>().unwrap_err();
        assert!(error.contains("is not a delay"), "{wrong:?} gave {error}");
    }
}

#[test]
fn decimal_sizes_and_times_are_rounded_for_reading() {
    for (bytes, text) in [
        (0.0, "0 B"),
        (999.0, "999 B"),
        (1_000.0, "1.0 kB"),
        (19_960_000.0, "20.0 MB"),
        (1.25e9, "1.2 GB"),
        (3e15, "3000.0 TB"),
    ] {
        assert_eq!(rounded_decimal(bytes), text);
    }
    for (seconds, text) in [
        (0.2, "0 s"),
        (58.4, "58 s"),
        (119.4, "119 s"),
        (119.6, "2 min"),
        (7_169.0, "119 min"),
        (7_200.0, "2.0 h"),
        (86_400.0, "24.0 h"),
    ] {
        assert_eq!(rounded_time(seconds), text);
    }
}

#[test]
fn a_rounded_count_has_two_digits_that_mean_something() {
    for (count, text) in [
        (0, "0"),
        (9, "9"),
        (99, "99"),
        (104, "100"),
        (995, "1,000"),
        (63_666, "64,000"),
        (3_349_999, "3,300,000"),
        (u64::MAX, "18,000,000,000,000,000,000"),
    ] {
        assert_eq!(rounded_count(count), text);
    }
}
