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
