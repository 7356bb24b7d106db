#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use super::*;
use std::thread::{ThreadId, current, sleep};

async fn where_brief_runs(runner: &Runner) -> ThreadId {
    runner.run_brief(|| current().id()).await.unwrap()
}

#[tokio::test]
async fn brief_jobs_leave_the_event_loop_after_one_that_took_long() {
    let runner = Runner::thread("brief").unwrap();
    let here = current().id();
    assert_ne!(runner.run(|| current().id()).await.unwrap(), here);
    // A busy machine may make any job long, so that brief ones are on the thread at first sight.
    tokio::time::sleep(BUSY).await;
    let begun_in_place = where_brief_runs(&runner).await == here;
    runner.run_brief(|| sleep(2 * BRIEF)).await.unwrap();
    if begun_in_place {
        assert_ne!(where_brief_runs(&runner).await, here);
    }
}

#[tokio::test]
async fn a_brief_job_that_panics_is_reported() {
    let runner = Runner::thread("panics").unwrap();
    let result: Result<(), Gone> = runner.run_brief(|| panic!("as meant")).await;
    assert_eq!(result, Err(Gone));
}

#[tokio::test]
async fn jobs_that_run_apart_do_not_wait_for_each_other() {
    let runner = Runner::thread("apart").unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    // Behind each other the first would wait for ever.
    let first = runner.run_apart(move || told.recv());
    let second = runner.run_apart(move || tell.send(7));
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap(), Ok(7));
    assert_eq!(second.unwrap(), Ok(()));
    let panicked: Result<(), Gone> = runner.run_apart(|| panic!("as meant")).await;
    assert_eq!(panicked, Err(Gone));
}

#[tokio::test]
async fn a_read_that_goes_after_waits_for_the_others_but_not_for_ever() {
    let runner = Runner::thread("after").unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let first = runner.run_read(move || (told.recv(), std::time::Instant::now()));
    let after = async {
        // It does not wait in the same line: the first ends only when this has run.
        let ran = runner.run_read_after(std::time::Instant::now).await;
        tell.send(()).unwrap();
        ran
    };
    let (first, after) = tokio::join!(first, after);
    assert!(after.unwrap() <= first.unwrap().1);
    // Behind one that ends soon it comes after it.
    let first = runner.run_read(|| (sleep(AFTER_MAX / 4), std::time::Instant::now()).1);
    let after = runner.run_read_after(std::time::Instant::now);
    let (first, after) = tokio::join!(first, after);
    let _ = (first.unwrap(), after.unwrap());
}
