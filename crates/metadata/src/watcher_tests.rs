#![allow(clippy::unwrap_used)]

use super::{Shown, Watcher};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::{LocalSet, spawn_local, yield_now};

#[tokio::test]
async fn watchers_are_woken_in_the_order_in_which_they_wait() {
    let tasks = LocalSet::new();
    let run = async {
        let shown = Shown::new(0);
        let woken = Rc::new(RefCell::new(Vec::new()));
        for number in 0..50 {
            let (mut watcher, woken) = (shown.watch(), woken.clone());
            spawn_local(async move {
                while watcher.changed().await.is_ok() {
                    woken.borrow_mut().push(number);
                }
            });
        }
        for round in 1..=3 {
            yield_now().await;
            shown.send(round);
            yield_now().await;
            let woken: Vec<i32> = woken.borrow_mut().drain(..).collect();
            assert_eq!(woken, (0..50).collect::<Vec<_>>());
        }
    };
    tasks.run_until(run).await;
}

#[tokio::test]
async fn a_value_set_before_the_wait_is_not_missed() {
    let shown = Shown::new(0);
    let mut watcher = shown.watch();
    assert!(!watcher.has_changed().unwrap());
    shown.send(1);
    watcher.changed().await.unwrap();
    assert_eq!(*watcher.borrow(), 1);
    assert!(!watcher.has_changed().unwrap());
    assert_eq!(watcher.wait_for(|value| *value == 1).await.unwrap(), 1);
    shown.send(2);
    assert_eq!(*watcher.borrow_and_update(), 2);
    shown.send_if_modified(|value| {
        *value = 3;
        false
    });
    assert!(!watcher.has_changed().unwrap());
}

#[tokio::test]
async fn watchers_hear_that_nothing_more_comes() {
    let shown = Shown::new(0);
    let mut watcher: Watcher<i32> = shown.watch();
    let end = async move {
        yield_now().await;
        drop(shown);
    };
    let (ended, ()) = tokio::join!(watcher.wait_for(|value| *value == 1), end);
    assert!(ended.is_err());
    assert_eq!(*watcher.borrow(), 0);
}
