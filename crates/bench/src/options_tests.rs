#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn quorum(arguments: &[&str]) -> QuorumOptions {
    let all = ["dunlin-bench", "quorum"].iter().chain(arguments);
    match Options::try_parse_from(all).unwrap().table {
        Table::Quorum(options) => options,
        _ => panic!("another table"),
    }
}

#[test]
fn defaults_are_the_short_form_of_the_paper() {
    let options = quorum(&[]);
    assert_eq!(options.connections(), [4, 64]);
    let timing = options.timing();
    assert_eq!(timing.run, Duration::from_secs(10));
    assert_eq!(timing.run_warmup, Duration::from_secs(3));
    assert_eq!(options.out(), PathBuf::from("docs/results"));
}

#[test]
fn paper_takes_its_thirty_seconds_and_quick_never_overwrites_results() {
    let timing = quorum(&["--paper", "--repeats", "5", "--connections", "4"]).timing();
    assert_eq!(timing.run - timing.run_warmup, Duration::from_secs(20));
    assert_eq!(timing.repeats, 5);
    assert_eq!(quorum(&["--quick"]).out(), PathBuf::from("target/bench"));
    assert_eq!(quorum(&["--quick"]).connections(), [4]);
    assert_eq!(
        quorum(&["--quick", "--connections", "1,8"]).connections(),
        [1, 8]
    );
    for wrong in [&["--quick", "--paper"][..], &["--connections", "0"]] {
        let all = ["dunlin-bench", "quorum"].iter().chain(wrong);
        assert!(Options::try_parse_from(all).is_err(), "{wrong:?}");
    }
}

#[test]
fn sizes_are_read_in_both_kinds_of_units() {
    for (text, bytes) in [
        ("2GiB", 2 << 30),
        ("64MiB", 64 << 20),
        ("5GB", 5_000_000_000),
    ] {
        assert_eq!(size(text), Ok(bytes));
    }
    for wrong in ["", "5", "GiB", "-1MB", "1.5GiB", "99999999999GiB"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}
