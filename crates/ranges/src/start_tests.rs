use super::*;
use dunlin_raftlog::{Record, Vote};
use raft::eraftpb::Entry;

const MADE: Recorded = Recorded {
    directory: Some(7),
    are_all: true,
    ready: true,
};

fn meta(applied: u64, term: u64) -> Meta {
    Meta {
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
            term: u64::from(before > 0),
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

#[test]
fn a_replica_is_made_noted_and_begins_to_speak() {
    let new = Recorded {
        directory: None,
        are_all: false,
        ready: false,
    };
    assert_eq!(judge(new, None, None), Start::Make);
    assert_eq!(
        judge(new, Some(&meta(0, 0)), Some(&log(0, &[]))),
        Start::Note
    );
    // A start that ended in between.
    assert_eq!(judge(new, Some(&meta(0, 0)), None), Start::Make);
    let noted = Recorded {
        directory: Some(7),
        ..new
    };
    let at = |recorded| judge(recorded, Some(&meta(0, 0)), Some(&log(0, &[])));
    assert_eq!(at(noted), Start::Wait);
    let all = Recorded {
        are_all: true,
        ..noted
    };
    assert_eq!(at(all), Start::Ready);
    assert_eq!(at(MADE), Start::Speak);
}

#[test]
fn one_that_has_lost_anything_keeps_silent() {
    let whole = log(0, &[1, 1, 2]);
    let is_mute = |recorded, meta: Option<&Meta>, log: Option<&GroupLog>| {
        matches!(judge(recorded, meta, log), Start::Mute(_))
    };
    // Empty.
    assert!(is_mute(MADE, None, None));
    assert!(is_mute(MADE, None, Some(&whole)));
    // Empty before all were made: others may have been made since, and it is not told.
    let unready = Recorded {
        ready: false,
        ..MADE
    };
    assert!(is_mute(unready, None, None));
    // Of another life.
    let other = Recorded {
        directory: Some(8),
        ..MADE
    };
    assert!(is_mute(other, Some(&meta(2, 1)), Some(&whole)));
    let copied = Meta {
        is_mute: true,
        ..meta(2, 1)
    };
    assert!(is_mute(MADE, Some(&copied), Some(&whole)));
    // Without its log, or with an older store.
    assert!(is_mute(MADE, Some(&meta(2, 1)), None));
    assert!(is_mute(MADE, Some(&meta(2, 1)), Some(&log(3, &[1]))));
}

#[test]
fn a_log_that_was_not_told_of_a_snapshot_begins_anew() {
    let whole = log(0, &[1, 1, 2]);
    assert_eq!(judge(MADE, Some(&meta(3, 2)), Some(&whole)), Start::Speak);
    assert_eq!(judge(MADE, Some(&meta(0, 0)), Some(&whole)), Start::Speak);
    let from = |index, term| Start::SpeakFrom(Position { index, term });
    assert_eq!(judge(MADE, Some(&meta(9, 4)), Some(&whole)), from(9, 4));
    // An entry of another leader stands there.
    assert_eq!(judge(MADE, Some(&meta(3, 4)), Some(&whole)), from(3, 4));
}
