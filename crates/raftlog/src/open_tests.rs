#![allow(clippy::unwrap_used)]
use super::*;
use crate::group::Position;
use crate::record::{Record, Vote};
use dunlin_log::disk::RealDisk;
use raft::eraftpb::Entry;

const GROUPS: u64 = 3;

/// Small numbers that repeat themselves.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

async fn opened(dir: &Path) -> Rc<RaftLog> {
    let options = Options {
        block_size_bytes: 4 << 10,
        segment_bytes: 16 << 10,
        ..Options::default()
    };
    let runner = Runner::thread("raftlog").unwrap();
    let log = RaftLog::open(Arc::new(RealDisk), runner, dir, options, false);
    let log = Rc::new(log.await.unwrap());
    let driven = log.clone();
    tokio::task::spawn_local(async move { driven.log().drive().await });
    log
}

fn entries(chance: &mut Chance, first: u64, term: u64) -> Vec<Entry> {
    let count = 1 + chance.below(4);
    let entry = |index| Entry {
        index,
        term,
        data: vec![7; 200],
        ..Entry::default()
    };
    (first..first + count).map(entry).collect()
}

/// Appends a record and takes it over.
fn write(log: &RaftLog, record: Record) -> u64 {
    let index = log.append(&record).unwrap();
    log.take(record);
    index
}

/// What a group has behind a position, and its vote.
fn told(log: &RaftLog, group: u64, from: Position) -> (Vote, Vec<(u64, u64)>) {
    let log = log.group(group).unwrap();
    let log = log.borrow();
    assert!(!log.is_broken());
    let kept = log.entries(from.index + 1, log.last().index + 1, u64::MAX);
    (
        log.vote(),
        kept.iter().map(|entry| (entry.index, entry.term)).collect(),
    )
}

async fn play(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut chance = Chance(seed * 2 + 1);
    let mut log = opened(dir.path()).await;
    let mut flushed = BTreeMap::new();
    for group in 0..GROUPS {
        let begin = Some(Position::default());
        write(
            &log,
            Record {
                group,
                begin,
                ..Record::default()
            },
        );
        flushed.insert(group, Position::default());
    }
    let mut term = 1;
    for step in 0..600 {
        let group = chance.below(GROUPS);
        let of_group = log.group(group).unwrap();
        let last = of_group.borrow().last();
        let mut record = Record {
            group,
            ..Record::default()
        };
        match chance.below(10) {
            0 => {
                term += 1;
                record.vote = Some(Vote {
                    term,
                    vote: chance.below(3),
                });
            }
            1 => {
                // Another leader: what is not flushed may be replaced.
                term += 1;
                let from = flushed[&group].index;
                let first = from + 1 + chance.below(last.index - from + 1);
                record.entries = entries(&mut chance, first, term);
            }
            2 if chance.below(4) == 0 => {
                let begin = Position {
                    index: last.index + 10,
                    term,
                };
                record.begin = Some(begin);
                flushed.insert(group, begin);
            }
            _ => record.entries = entries(&mut chance, last.index + 1, term),
        }
        let index = write(&log, record);
        if chance.below(20) == 0 {
            log.log().wait_synced(index).await.unwrap();
        }
        if chance.below(30) == 0 {
            let of_group = of_group.borrow();
            let (from, last) = (flushed[&group].index, of_group.last().index);
            let index = from + chance.below(last - from + 1);
            let position = Position {
                index,
                term: of_group.term(index).unwrap(),
            };
            flushed.insert(group, position);
        }
        if log.is_long() && chance.below(3) == 0 {
            let before = log.log().segments().len();
            log.release(|group| flushed.get(&group).copied())
                .await
                .unwrap();
            assert!(log.log().segments().len() < before);
        }
        if step % 100 == 99 {
            log.log().wait_synced(log.log().last()).await.unwrap();
            let before: Vec<_> = (0..GROUPS).map(|g| told(&log, g, flushed[&g])).collect();
            log.log().close().await.unwrap();
            log = opened(dir.path()).await;
            let after: Vec<_> = (0..GROUPS).map(|g| told(&log, g, flushed[&g])).collect();
            assert_eq!(after, before, "seed {seed}, step {step}");
        }
    }
}

#[test]
fn groups_are_recovered_as_they_were_whatever_was_released() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    for seed in 0..4 {
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, play(seed));
    }
}
