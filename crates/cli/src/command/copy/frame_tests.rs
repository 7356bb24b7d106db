#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::time::Instant;

use dunlin_copy::{Compared, Part, Range, Trouble};

use super::*;

fn range(start: Option<&[u8]>, bytes: u64) -> Option<Running> {
    let unit = Unit::Range(Range {
        column_family: "default".to_owned(),
        start: start.map(|key| Key(key.to_vec())),
        end: None,
        size_bytes: 96_000_000,
    });
    Some(Running { unit, bytes })
}

fn units(running: Vec<Option<Running>>) -> Units {
    Units {
        total: 19,
        done: 1,
        total_size_bytes: 1_900_000_000,
        done_size_bytes: 100_000_000,
        running,
        ..Units::default()
    }
}

fn moment(units: &Units) -> Moment<'_> {
    Moment {
        units,
        bytes: 190_000_000,
        pairs: 842_088,
        retries: 0,
        elapsed_s: 10.0,
        step_s: 10.0,
        patience_s: 0.0,
        bytes_per_s: 18_600_000.0,
    }
}

#[test]
fn everything_a_user_wants_to_know_fits_in_60_columns() {
    let binary = b"\0\0\0\0\0\x11n\xae00000000";
    let slots = vec![
        range(None, 48_000_000),
        range(Some(binary), 42_000_000),
        None,
        range(Some(b"user/4711"), 500_000_000),
    ];
    let units = units(slots);
    let lines = moment(&units).lines();
    assert_eq!(
        lines,
        [
            "█░░░░░░░░░░░  15 %  sending, 56 s left, 1 of 19 ranges",
            "190.0 MB, 842,088 pairs, 18.6 MB/s now, 19.0 MB/s mean",
            "  ██████░░░░░░  50 % of 96.0 MB  from the first key",
            "  █████░░░░░░░  43 % of 96.0 MB  from 0x0000000000116eae..",
            "",
            "  ████████████ 100 % of 96.0 MB  from user/4711",
        ]
    );
    assert!(lines.iter().all(|line| line.chars().count() <= 60));
    assert_eq!(
        moment(&units).line(),
        "10 s: sending 15 %, 190.0 MB, 842,088 pairs, 18.6 MB/s now, 19.0 MB/s mean, 56 s left, \
         1 of 19 ranges"
    );
}

#[test]
fn no_lines_are_left_for_connections_without_work() {
    let mut units = units(vec![None, range(None, 1), None, None]);
    (units.done, units.done_size_bytes) = (18, 1_804_000_000);
    assert_eq!(moment(&units).lines().len(), 3);
    units.running[1] = None;
    units.done = 19;
    let lines = moment(&units).lines();
    assert_eq!(
        lines[0],
        "████████████ 100 %  making the target whole, 19 of 19 units"
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn comparing_has_a_progress_of_its_own() {
    let mut units = units(vec![range(None, 30_000_000)]);
    (units.done, units.done_size_bytes) = (19, 1_900_000_000);
    units.compared = Some(Compared {
        units: 4,
        size_bytes: 400_000_000,
    });
    let moment = Moment {
        bytes: 90_000_000,
        pairs: 398_884,
        step_s: 2.0,
        ..moment(&units)
    };
    let lines = moment.lines();
    assert_eq!(
        lines[0],
        "██░░░░░░░░░░  22 %  comparing, 7 s left, 4 of 19 ranges"
    );
    // What was compared, and how fast: what was sent has nothing to do with it.
    let compared = "90.0 MB, 398,884 pairs, 18.6 MB/s now, 45.0 MB/s mean";
    assert_eq!(lines[1], compared);
    assert_eq!(
        moment.line(),
        format!("10 s: comparing 22 %, {compared}, 7 s left, 4 of 19 ranges")
    );
}

#[test]
fn a_lost_connection_is_told_with_the_time_it_is_waited_for() {
    let part = Unit::Part(Part {
        file: "000012.sst".to_owned(),
        offset: 0,
        length: 67_000_000,
        file_length: 67_000_000,
    });
    let bytes = 33_500_000;
    let mut units = units(vec![Some(Running { unit: part, bytes })]);
    units.trouble = Some(Trouble {
        reason: "lost h:1: closed".to_owned(),
        until: Instant::now(),
    });
    let moment = Moment {
        retries: 1,
        patience_s: 41.9,
        ..moment(&units)
    };
    let lines = moment.lines();
    assert!(
        lines[0].ends_with(
            "%  sending, trying again for 42 s: lost h:1: closed, 1 of 19 files, 1 retry"
        ),
        "{lines:?}"
    );
    assert_eq!(lines[2], "  ██████░░░░░░  50 % of 67.0 MB  000012.sst");
}
