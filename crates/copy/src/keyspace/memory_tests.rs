#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::plan::{FORMAT, Hex, Mode, Onto, Range, Unit};
use crate::wire::codec::Compression;

fn plan(copy_id: u128) -> Plan {
    Plan {
        format: FORMAT,
        copy_id: Hex(copy_id),
        fingerprint: Hex(7),
        source: "/source".to_owned(),
        mode: Mode::Insert,
        onto: Onto::Empty,
        column_families: vec!["default".to_owned()],
        table_compression: Compression::None,
        units: vec![
            Unit::Range(Range {
                column_family: "default".to_owned(),
                start: None,
                end: None,
                size_bytes: 1,
            });
            3
        ],
    }
}

#[test]
fn finished_units_are_remembered_for_this_keyspace_and_plan_only() {
    let directory = tempfile::tempdir().unwrap();
    let checkpoint = directory.path().join(".db.dunlin-copy-1");
    let recalled = |id| recall([&checkpoint].into_iter(), id).unwrap();
    assert!(recalled(4).is_none());
    let mut memory = Memory::open(&checkpoint, 4, &plan(1)).unwrap();
    memory.add(2, Tally::default()).unwrap();
    drop(memory);
    let left = recalled(4).unwrap();
    assert_eq!((left.plan, left.done), (plan(1), 1));
    assert_eq!(Memory::open(&checkpoint, 4, &plan(1)).unwrap().done(), [2]);
    // The same name for another keyspace: nothing of it is there.
    assert!(recalled(5).is_none());
    assert!(
        Memory::open(&checkpoint, 5, &plan(1))
            .unwrap()
            .done()
            .is_empty()
    );
    assert!(recalled(4).is_none());
    // Another copy into it begins at the beginning.
    let mut memory = Memory::open(&checkpoint, 5, &plan(1)).unwrap();
    memory.add(0, Tally::default()).unwrap();
    drop(memory);
    let memory = Memory::open(&checkpoint, 5, &plan(2)).unwrap();
    assert!(memory.done().is_empty());
    memory.forget().unwrap();
    assert_eq!(
        directory::names(directory.path()).unwrap(),
        Vec::<String>::new()
    );
}
