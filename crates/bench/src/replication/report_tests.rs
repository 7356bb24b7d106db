use super::super::stream::number_of;
use super::*;
use crate::replication::{Cell, Drain, Row};
use crate::spread::Spread;

#[test]
fn a_change_of_the_load_is_told_by_its_number() {
    let line = br#"{"event":"change","partition":5,"key":"q00000000000002a","value_base64":"AA==","version":"x"}"#;
    assert_eq!(number_of(line, b'q'), Some(42));
    assert_eq!(number_of(line, b'r'), None);
    let gone = br#"{"event":"change","partition":5,"key":"q00000000000002a","absent":"deleted"}"#;
    assert_eq!(number_of(gone, b'q'), None);
    assert_eq!(
        number_of(br#"{"event":"progress","token":"x"}"#, b'q'),
        None
    );
}

#[test]
fn targets_stand_beside_what_was_measured() {
    let cell = |rate, clients, quiet, p99| Cell {
        row: Row {
            rate,
            clients,
            quiet,
            views: 0,
            links: 0,
        },
        complete: clients.saturating_sub(1),
        visible_ms: [1.0, 2.0, p99],
        ..Cell::default()
    };
    let report = Report {
        date_utc: String::new(),
        command_line: String::new(),
        machine: crate::host::machine::Machine::describe(std::path::Path::new("/tmp")),
        revision: None,
        dunlin: String::new(),
        sync: "never".to_owned(),
        shards: 1,
        cell_s: 20,
        cells: vec![
            cell(6_000, 0, 0, 4.0),
            cell(14_000, 0, 0, 11.0),
            cell(6_000, 25, 0, 7.0),
            cell(6_000, 25, 1_000, 8.5),
        ],
        redis: Vec::new(),
        redis_version: None,
        drains: [Kind::Snapshot, Kind::Log]
            .map(|kind| Drain {
                kind,
                entries: 9,
                value_bytes: 1,
                entries_per_s: Spread::of([199_999.0]),
                mb_per_s: Spread::of([100.0]),
                cpus: 1.0,
            })
            .to_vec(),
    };
    let text = render(&report);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with(" no |"))
        .collect();
    // At 14,000 sets/s, one client is not complete, the quiet ones disturb, and the log.
    assert_eq!(lines.len(), 4, "{text}");
    assert!(text.contains("8.0 ms, twice that alone"), "{text}");
}
