#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::PathBuf;

use super::*;
use crate::plan::{FORMAT, Hex};
use crate::settings::Target;
use crate::wire::codec::Compression;

fn asked(mode: Option<Mode>, onto: Onto, column_families: &[&str]) -> Settings {
    let target = Target::Directory(PathBuf::from("t"));
    Settings {
        mode,
        onto,
        column_families: column_families
            .iter()
            .map(|name| name.to_string())
            .collect(),
        ..Settings::new(PathBuf::from("s"), target)
    }
}

fn found(holds: Holds) -> Found {
    Found {
        holds,
        partial: None,
        done: 0,
        receipt: None,
    }
}

fn chosen(settings: &Settings, found: &Found) -> Option<(Mode, Onto)> {
    choose(settings, found)
        .ok()
        .map(|choice| (choice.mode, choice.onto))
}

#[test]
fn an_empty_target_gets_files_and_a_database_gets_ranges() {
    let all = |onto| asked(None, onto, &[]);
    for (settings, holds, expected) in [
        (
            all(Onto::Empty),
            Holds::Nothing,
            Some((Mode::Files, Onto::Empty)),
        ),
        (
            all(Onto::Merge),
            Holds::Nothing,
            Some((Mode::Files, Onto::Empty)),
        ),
        (all(Onto::Empty), Holds::Database, None),
        (
            all(Onto::Merge),
            Holds::Database,
            Some((Mode::Ingest, Onto::Merge)),
        ),
        (
            all(Onto::Replace),
            Holds::Database,
            Some((Mode::Files, Onto::Replace)),
        ),
        (all(Onto::Replace), Holds::Other, None),
        (
            asked(None, Onto::Empty, &["a"]),
            Holds::Nothing,
            Some((Mode::Ingest, Onto::Empty)),
        ),
        (
            asked(Some(Mode::Files), Onto::Empty, &["a"]),
            Holds::Nothing,
            None,
        ),
        (
            asked(Some(Mode::Files), Onto::Merge, &[]),
            Holds::Database,
            None,
        ),
        (
            asked(Some(Mode::Insert), Onto::Merge, &[]),
            Holds::Database,
            Some((Mode::Insert, Onto::Merge)),
        ),
    ] {
        assert_eq!(
            chosen(&settings, &found(holds)),
            expected,
            "{settings:?} {holds:?}"
        );
    }
}

#[test]
fn a_copy_that_was_begun_goes_on_unless_another_is_asked_for() {
    let plan = |mode, onto| Plan {
        format: FORMAT,
        copy_id: Hex(1),
        fingerprint: Hex(2),
        source: String::new(),
        mode,
        onto,
        column_families: vec!["default".to_owned()],
        table_compression: Compression::None,
        units: Vec::new(),
    };
    let begun = |mode, onto| Found {
        partial: Some(plan(mode, onto)),
        ..found(Holds::Nothing)
    };
    let ingesting = begun(Mode::Ingest, Onto::Empty);
    for (settings, expected) in [
        (asked(None, Onto::Empty, &[]), (Mode::Ingest, Onto::Empty)),
        (asked(None, Onto::Replace, &[]), (Mode::Ingest, Onto::Empty)),
        (
            asked(Some(Mode::Files), Onto::Empty, &[]),
            (Mode::Files, Onto::Empty),
        ),
    ] {
        assert_eq!(chosen(&settings, &ingesting), Some(expected));
    }
    // Merging and replacing is never gone on with by whoever did not ask for it.
    for onto in [Onto::Merge, Onto::Replace] {
        let merging = Found {
            holds: Holds::Database,
            ..begun(Mode::Ingest, onto)
        };
        assert_eq!(chosen(&asked(None, Onto::Empty, &[]), &merging), None);
    }
}
