#![allow(clippy::unwrap_used)]
use super::*;

fn entries(first: u64, terms: &[u64]) -> Vec<Entry> {
    let numbered = terms.iter().zip(first..);
    let entry = |(term, index): (&u64, u64)| Entry {
        index,
        term: *term,
        data: vec![0; 10],
        ..Entry::default()
    };
    numbered.map(entry).collect()
}

fn record(first: u64, terms: &[u64]) -> Record {
    Record {
        entries: entries(first, terms),
        ..Record::default()
    }
}

fn begun(index: u64, term: u64) -> GroupLog {
    let mut log = GroupLog::default();
    log.take(Record {
        begin: Some(Position { index, term }),
        vote: Some(Vote { term, vote: 0 }),
        ..Record::default()
    });
    log
}

fn terms(log: &GroupLog) -> Vec<(u64, u64)> {
    let all = log.entries(log.first_index(), log.last().index + 1, u64::MAX);
    all.iter().map(|entry| (entry.index, entry.term)).collect()
}

#[test]
fn an_entry_discards_what_stood_there_and_above() {
    let mut log = begun(4, 1);
    log.take(record(5, &[1, 1, 1]));
    log.take(record(5, &[2]));
    assert_eq!(terms(&log), [(5, 2)]);
    assert_eq!(log.last(), Position { index: 5, term: 2 });
    assert_eq!(log.term(6), None);
    assert_eq!(log.bytes(), 10);
}

#[test]
fn what_stands_before_the_beginning_is_a_rest() {
    let mut log = GroupLog::default();
    log.take(record(7, &[1, 1]));
    assert!(!log.has_begun());
    log.take(Record {
        begin: Some(Position { index: 6, term: 1 }),
        entries: entries(7, &[1, 1, 2]),
        ..Record::default()
    });
    assert_eq!(terms(&log), [(7, 1), (8, 1), (9, 2)]);
    assert_eq!(log.term(6), Some(1));
    assert_eq!(log.term(5), None);
}

#[test]
fn what_is_older_than_the_beginning_is_left_out() {
    let mut log = begun(6, 1);
    log.take(record(5, &[1, 1, 1, 2]));
    assert_eq!(terms(&log), [(7, 1), (8, 2)]);
    log.take(record(3, &[1, 1]));
    assert_eq!(terms(&log), [(7, 1), (8, 2)]);
}

#[test]
fn only_what_is_applied_is_forgotten() {
    let mut log = begun(0, 0);
    log.take(record(1, &[1, 1, 2, 2]));
    log.trim(3, 0);
    assert_eq!(log.before(), Position { index: 3, term: 2 });
    assert_eq!(terms(&log), [(4, 2)]);
    log.trim(9, 10);
    assert_eq!(terms(&log), [(4, 2)]);
}

#[test]
fn written_anew_it_is_the_same_behind_what_is_flushed() {
    let mut log = begun(0, 0);
    log.take(record(1, &[1, 1, 2, 2]));
    let mut again = GroupLog::default();
    again.take(log.rewritten(3, Position { index: 2, term: 1 }).unwrap());
    assert_eq!(terms(&again), [(3, 2), (4, 2)]);
    assert_eq!(again.vote(), log.vote());
    // All of it is flushed.
    again.take(log.rewritten(3, Position { index: 4, term: 2 }).unwrap());
    log.trim(3, 0);
    assert_eq!(log.rewritten(3, Position { index: 2, term: 1 }), None);
    assert!(!log.is_broken());
    log.take(record(9, &[3]));
    assert!(log.is_broken());
    assert_eq!(again.last(), Position { index: 4, term: 2 });
}

#[test]
fn terms_that_go_back_are_no_log() {
    let mut log = begun(0, 0);
    log.take(record(1, &[1, 1, 1]));
    log.take(record(2, &[2]));
    assert!(!log.is_broken());
    // As the deliberate bug reads it.
    let mut kept = begun(0, 0);
    kept.take_keeping_higher(record(1, &[1, 1, 1]));
    kept.take_keeping_higher(record(2, &[2]));
    assert_eq!(terms(&kept), [(1, 1), (2, 2), (3, 1)]);
    assert!(kept.is_broken());
}

#[test]
fn what_a_majority_has_is_known_again_after_a_start() {
    let mut log = begun(4, 1);
    assert_eq!(log.commit(), 4);
    log.take(Record {
        commit: Some(6),
        ..record(5, &[1, 1, 1])
    });
    log.take(record(8, &[1]));
    assert_eq!(log.commit(), 6);
    log.take(Record {
        commit: Some(7),
        ..Record::default()
    });
    assert_eq!((log.commit(), log.last().index), (7, 8));
    let mut again = GroupLog::default();
    again.take(log.rewritten(3, Position { index: 5, term: 1 }).unwrap());
    assert_eq!(again.commit(), 7);
    // More was applied than was written of it.
    again.take(log.rewritten(3, Position { index: 8, term: 1 }).unwrap());
    assert_eq!(again.commit(), 8);
    again.forget_commit();
    assert_eq!(again.commit(), 8);
    // No majority has what this log never had.
    log.take(Record {
        commit: Some(99),
        ..record(9, &[1])
    });
    assert!(log.is_broken());
}

#[test]
fn at_least_one_entry_is_given() {
    let mut log = begun(0, 0);
    log.take(record(1, &[1, 1, 1]));
    assert_eq!(log.entries(1, 4, 0).len(), 1);
    assert_eq!(log.entries(1, 4, 52).len(), 2);
    assert_eq!(log.entries(4, 4, 52).len(), 0);
}
