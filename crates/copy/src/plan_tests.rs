#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn plan(mode: Mode, units: Vec<Unit>) -> Plan {
    Plan {
        format: FORMAT,
        copy_id: Hex(7),
        fingerprint: Hex(u128::MAX),
        source: "/db".to_owned(),
        mode,
        onto: Onto::Empty,
        column_families: vec!["default".to_owned()],
        table_compression: Compression::Lz4,
        units,
    }
}

fn range(column_family: &str) -> Unit {
    Unit::Range(Range {
        column_family: column_family.to_owned(),
        start: Some(Key(vec![0, 255])),
        end: None,
        size_bytes: 9,
    })
}

fn part(file: &str, offset: u64) -> Unit {
    Unit::Part(Part {
        file: file.to_owned(),
        offset,
        length: 5,
        file_length: 10,
    })
}

#[test]
fn plans_survive_json() {
    for plan in [
        plan(Mode::Ingest, vec![range("default")]),
        plan(Mode::Files, vec![part("000012.sst", 0), part("CURRENT", 5)]),
    ] {
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        assert_eq!(plan.fault(), None);
    }
}

#[test]
fn a_plan_cannot_reach_outside_its_directory_or_its_files() {
    for file in ["../x", "/etc/passwd", "", ".", "..", "a/b", "a\0", "1.tmp"] {
        assert!(
            plan(Mode::Files, vec![part(file, 0)]).fault().is_some(),
            "{file}"
        );
    }
    for offset in [6, u64::MAX] {
        assert!(plan(Mode::Files, vec![part("a", offset)]).fault().is_some());
    }
    assert!(plan(Mode::Ingest, vec![part("a", 0)]).fault().is_some());
    assert!(plan(Mode::Files, vec![range("default")]).fault().is_some());
    assert!(plan(Mode::Ingest, vec![range("other")]).fault().is_some());
}
