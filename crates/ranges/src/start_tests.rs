use super::*;
use dunlin_raftlog::{Record, Vote};
use raft::eraftpb::Entry;

use crate::descriptor::FIRST;

/// Of a range that was started, by its record.
const MADE: Recorded = Recorded {
    directory: Some(7),
    is_beginning: true,
    are_all: true,
    ready: true,
};
/// Of one whose replicas are being made.
const NEW: Recorded = Recorded {
    directory: None,
    is_beginning: true,
    are_all: false,
    ready: false,
};

fn meta(applied: u64, term: u64) -> Meta {
    Meta {
        own: 2,
        directory: 7,
        applied,
        term,
        ..Meta::default()
    }
}

fn log(before: u64, terms: &[u64]) -> GroupLog {
    let mut log = GroupLog::default();
    log.take(Record {
        begin: Some(Position {
            index: before,
            term: before.min(FIRST),
        }),
        vote: Some(Vote::default()),
        entries: (terms.iter().zip(before + 1..))
            .map(|(term, index)| Entry {
                index,
                term: *term,
                ..Entry::default()
            })
            .collect(),
        ..Record::default()
    });
    log
}

/// One of the first replicas, without a descriptor.
fn first_of(recorded: Option<Recorded>, meta: Option<&Meta>, log: Option<&GroupLog>) -> Start {
    let has_descriptor = false;
    start(
        recorded,
        Own {
            meta,
            has_descriptor,
            log,
        },
    )
}

/// One with a descriptor.
fn member(recorded: Option<Recorded>, meta: Option<&Meta>, log: Option<&GroupLog>) -> Start {
    let has_descriptor = meta.is_some();
    start(
        recorded,
        Own {
            meta,
            has_descriptor,
            log,
        },
    )
}

#[test]
fn a_first_replica_is_made_noted_and_begins_to_speak() {
    let (at, empty) = (meta(FIRST, FIRST), log(FIRST, &[]));
    assert_eq!(first_of(None, None, None), Start::Nothing);
    assert_eq!(first_of(Some(NEW), None, None), Start::Make);
    assert_eq!(first_of(Some(NEW), Some(&at), Some(&empty)), Start::Note);
    // A start that ended in between.
    assert_eq!(first_of(Some(NEW), Some(&at), None), Start::Make);
    let noted = Recorded {
        directory: Some(7),
        ..NEW
    };
    assert_eq!(first_of(Some(noted), Some(&at), Some(&empty)), Start::Wait);
    assert_eq!(first_of(None, Some(&at), Some(&empty)), Start::Wait);
    let all = Recorded {
        are_all: true,
        ..noted
    };
    assert_eq!(
        first_of(Some(all), Some(&at), Some(&empty)),
        Start::Describe
    );
    assert_eq!(member(Some(all), Some(&at), Some(&empty)), Start::Ready);
    // It was not there when others noted it.
    assert_eq!(
        first_of(Some(MADE), Some(&at), Some(&empty)),
        Start::Describe
    );
    assert_eq!(member(Some(MADE), Some(&at), Some(&empty)), Start::Speak);
}

#[test]
fn a_replica_with_a_descriptor_ignores_the_record() {
    let (at, whole) = (meta(7, FIRST), log(FIRST, &[FIRST, FIRST, 6]));
    let late = Recorded {
        directory: Some(99),
        ..NEW
    };
    for recorded in [None, Some(NEW), Some(late), Some(MADE)] {
        assert_eq!(member(recorded, Some(&at), Some(&whole)), Start::Speak);
    }
    let moved = Recorded {
        is_beginning: false,
        ..MADE
    };
    assert_eq!(member(Some(moved), Some(&at), Some(&whole)), Start::Speak);
    // One that was prepared knows nothing yet, and hears.
    assert_eq!(
        first_of(None, Some(&meta(0, 0)), Some(&log(0, &[]))),
        Start::Speak
    );
}

#[test]
fn one_that_has_lost_anything_keeps_silent() {
    let whole = log(FIRST, &[FIRST, FIRST, 6]);
    let is_mute = |start| matches!(start, Start::Mute(_));
    // Empty.
    assert!(is_mute(first_of(Some(MADE), None, None)));
    assert!(is_mute(first_of(Some(MADE), None, Some(&whole))));
    // Empty before all were made: others may have been made since, and it is not told.
    let unready = Recorded {
        ready: false,
        ..MADE
    };
    assert!(is_mute(first_of(Some(unready), None, None)));
    // Of another life, and one that others went on without.
    let (at, empty) = (meta(FIRST, FIRST), log(FIRST, &[]));
    let other = Recorded {
        directory: Some(8),
        ..MADE
    };
    assert!(is_mute(first_of(Some(other), Some(&at), Some(&empty))));
    let moved = Recorded {
        is_beginning: false,
        ..MADE
    };
    assert!(is_mute(first_of(Some(moved), Some(&at), Some(&empty))));
    let copied = Meta {
        is_mute: true,
        ..meta(7, FIRST)
    };
    assert!(is_mute(member(Some(MADE), Some(&copied), Some(&whole))));
    // Without its log, or with an older store.
    let at = meta(7, FIRST);
    assert!(is_mute(member(Some(MADE), Some(&at), None)));
    assert!(is_mute(member(None, Some(&at), None)));
    assert!(is_mute(member(Some(MADE), Some(&at), Some(&log(8, &[5])))));
    // One that was prepared, and has the log of the one before it.
    assert!(is_mute(first_of(None, Some(&meta(0, 0)), Some(&whole))));
}

#[test]
fn a_log_that_was_not_told_of_a_snapshot_begins_anew() {
    let whole = log(FIRST, &[5, 5, 6]);
    let of = |applied, term| member(Some(MADE), Some(&meta(applied, term)), Some(&whole));
    assert_eq!(of(8, 6), Start::Speak);
    assert_eq!(of(5, 5), Start::Speak);
    let from = |index, term| Start::SpeakFrom(Position { index, term });
    assert_eq!(of(14, 8), from(14, 8));
    // An entry of another leader stands there.
    assert_eq!(of(8, 8), from(8, 8));
}
