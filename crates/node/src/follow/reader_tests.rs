#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::cell::RefCell;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::super::source::tests::{put, with_log};
use super::super::turns::QUANTUM_BYTES;
use super::*;

const MS: Duration = Duration::from_millis(1);

async fn is_synced(log: &Log, last: Index) {
    let source = Source::new(log.clone(), last, Bound::Synced);
    source.ready().await.unwrap();
}

async fn move_of(turns: &ReadTurns) {
    let turn = turns.turn(Class::Move).await;
    sleep(20 * MS).await;
    turn.end(QUANTUM_BYTES);
}

#[test]
fn who_does_not_ask_on_keeps_nobody_from_a_turn() {
    // Nothing is in memory: each read takes a while.
    with_log(0, |log| async move {
        put(&log, 2..200);
        is_synced(&log, 199).await;
        let turns = Rc::<ReadTurns>::default();
        let mut readers = Vec::new();
        for _ in 0..20 {
            let mut reader = Reader::new(log.clone(), turns.clone(), 2);
            // It asks, and then does something else.
            assert!(timeout(Duration::ZERO, reader.next(250)).await.is_err());
            readers.push(reader);
        }
        timeout(1_000 * MS, move_of(&turns)).await.unwrap();
        // What it asked for is there, once, whenever it asks again.
        sleep(10_000 * MS).await;
        for reader in &mut readers {
            assert_eq!(reader.position(), 2);
            let now = tokio::time::Instant::now();
            let read = reader.next(250).await.unwrap();
            assert_eq!(
                (read[0].0, read.len(), now.elapsed()),
                (2, 2, Duration::ZERO)
            );
            assert_eq!(reader.position(), 4);
            assert_eq!(reader.next(250).await.unwrap()[0].0, 4);
        }
    });
}

#[test]
fn who_waits_for_more_or_is_gone_has_no_turn() {
    with_log(0, |log| async move {
        put(&log, 2..10);
        is_synced(&log, 9).await;
        let turns = Rc::<ReadTurns>::default();
        let mut at_end = Reader::new(log.clone(), turns.clone(), 10);
        assert!(timeout(MS, at_end.next(250)).await.is_err());
        let mut gone = Reader::new(log.clone(), turns.clone(), 2);
        let mut elsewhere = Reader::new(log.clone(), turns.clone(), 2);
        for reader in [&mut gone, &mut elsewhere] {
            assert!(timeout(Duration::ZERO, reader.next(250)).await.is_err());
        }
        drop(gone);
        elsewhere.seek(7);
        timeout(1_000 * MS, move_of(&turns)).await.unwrap();
        assert_eq!(elsewhere.next(250).await.unwrap()[0].0, 7);
        put(&log, 10..11);
        assert_eq!(at_end.next(250).await.unwrap()[0].0, 10);
    });
}

#[test]
fn moves_and_replicas_wait_for_one_read_at_most_each() {
    with_log(0, |log| async move {
        put(&log, 2..200);
        is_synced(&log, 199).await;
        let turns = Rc::<ReadTurns>::default();
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut tasks = Vec::new();
        for _ in 0..5 {
            let mut reader = Reader::new(log.clone(), turns.clone(), 2);
            let order = order.clone();
            tasks.push(tokio::task::spawn_local(async move {
                for _ in 0..20 {
                    reader.next(250).await.unwrap();
                    order.borrow_mut().push(Class::Follower);
                }
            }));
        }
        for class in [Class::Move, Class::Backfill] {
            let (turns, order) = (turns.clone(), order.clone());
            tasks.push(tokio::task::spawn_local(async move {
                for _ in 0..20 {
                    let turn = turns.turn(class).await;
                    sleep(10 * MS).await;
                    turn.end(QUANTUM_BYTES);
                    order.borrow_mut().push(class);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.borrow();
        assert_eq!(order.len(), 140);
        // While those above want to be read for all the time, two reads of followers never follow each other.
        let last = order.iter().rposition(|class| *class != Class::Follower);
        let busy = &order[..=last.unwrap()];
        let pairs = busy.windows(2);
        let below = pairs.filter(|pair| **pair == [Class::Follower; 2]).count();
        assert_eq!(below, 0, "{busy:?}");
    });
}
