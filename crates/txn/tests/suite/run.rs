//! Runs, and what they are judged by.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_history::{Outcome as End, Transaction, check_appends};
use dunlin_txn::{Answer, Command, Request, World, Write, serve};
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::bugs::Bug;
use crate::client::{read_all, work};
use crate::lists::ranges_of;
use crate::model::Model;
use crate::range::{Here, Range, tend};
use crate::sums::check;
use crate::update::{counter, crowd};

const RANGES: u64 = 3;
const CLIENTS: u64 = 5;
const EACH: u64 = 16;

/// Runs to its end, in a time of its own.
fn alone<T>(run: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, run)
}

/// What a run came to: how many transactions there were and how many were done, or what is wrong.
fn run(seed: u64, bug: Bug) -> Result<(usize, usize), String> {
    alone(async {
        let model = Model::new(seed, bug);
        for id in 0..RANGES {
            let range = Rc::new(Range::new(&model, id));
            model.ranges.borrow_mut().push(range.clone());
            tokio::task::spawn_local(tend(range));
        }
        tokio::task::spawn_local(trouble(model.clone()));
        let clients =
            (0..CLIENTS).map(|number| tokio::task::spawn_local(work(model.clone(), number, EACH)));
        for client in clients.collect::<Vec<_>>() {
            client.await.map_err(|error| error.to_string())?;
        }
        model.is_calm.set(true);
        sleep(Duration::from_secs(20)).await;
        let invoked = model.moment();
        let steps = read_all(&model)
            .await
            .ok_or("the last read is not answered")?;
        let returned = model.moment();
        model.history.borrow_mut().push(Transaction {
            process: 99,
            steps,
            invoked,
            outcome: End::Ok { returned },
        });
        for range in model.ranges.borrow().iter() {
            if range.is_purged.get() {
                continue;
            }
            let state = range.state.borrow();
            let (intents, open) = (state.intents().count(), state.unfinished().count());
            if intents + open > 0 {
                return Err(format!(
                    "range {}: {intents} intents and {open} records are left",
                    range.id
                ));
            }
        }
        if let Some(broken) = model.broken.take() {
            return Err(broken);
        }
        check_sums(&model).await?;
        let history = model.history.borrow().clone();
        let done = history
            .iter()
            .filter(|t| matches!(t.outcome, End::Ok { .. }))
            .count();
        check_appends(&history).map_err(|anomaly| anomaly.to_string())?;
        Ok((history.len(), done))
    })
}

/// Whether counters are the sums of all additions.
async fn check_sums(model: &Rc<Model>) -> Result<(), String> {
    let mut counters = Vec::new();
    for range in ranges_of(model) {
        let read = Request::Read {
            at: None,
            keys: vec![counter(range)],
        };
        let Ok(Answer::Values(values)) = model.clone().world().ask(range, read).await else {
            return Err("the last read of a counter is not answered".to_owned());
        };
        let value = values[0].as_ref().map(|(_, value)| value);
        counters.push((range, dunlin_txn::sum(value, 0)?));
    }
    check(&model.sums.borrow(), &counters)
}

/// Leaders of ranges and of the oracle are lost now and then.
async fn trouble(model: Rc<Model>) {
    loop {
        sleep(model.ms(5, 150)).await;
        if model.one_in(12) {
            model.change_oracle();
        }
        let range = model.below(RANGES) as usize;
        let range = model.ranges.borrow()[range].clone();
        if model.one_in(2) {
            tokio::task::spawn_local(range.clone().change_leader());
        }
        if model.one_in(30) {
            tokio::task::spawn_local(drop_keyspace(range));
        }
    }
}

/// A keyspace is dropped; then it is undropped, or purged, once in a run.
async fn drop_keyspace(range: Rc<Range>) {
    let model = range.model.clone();
    let count = range.drops.get();
    if count % 2 == 1 {
        return;
    }
    range.drops.set(count + 1);
    sleep(model.ms(0, 400)).await;
    if !model.one_in(3) || model.has_purged.replace(true) {
        range.drops.set(count + 2);
        return;
    }
    // As its members see it: its log says that all is over.
    while !range.is_ended() {
        sleep(model.ms(1, 20)).await;
    }
    range.is_purged.set(true);
}

/// A commit that comes twice, the second time when its key has been read later.
async fn commit_twice(seed: u64) -> Vec<Answer> {
    let model = Model::new(seed, Bug::None);
    let range = Rc::new(Range::new(&model, 0));
    model.ranges.borrow_mut().push(range.clone());
    let world = model.clone().world();
    let (key, at) = (Bytes::from_static(b"k"), model.timestamp_now(Version(0)));
    let commit = Request::Enter(Command::Commit {
        txn: at,
        participants: vec![],
        checks: vec![],
        writes: vec![Write {
            key: key.clone(),
            value: None,
        }],
        id: None,
    });
    let read = Request::Read {
        at: None,
        keys: vec![key],
    };
    let here = Here(range);
    let told = tokio::join!(
        serve(&world, &here, commit.clone()),
        serve(&world, &here, read),
        async {
            sleep(model.ms(0, 8)).await;
            serve(&world, &here, commit).await
        },
    );
    vec![told.0, told.2]
}

#[test]
fn a_commit_that_comes_twice_is_told_the_same() {
    for seed in 0..100 {
        let told = alone(commit_twice(seed));
        assert_eq!(told[0], told[1], "seed {seed}");
    }
}

/// A run in which all add to one counter.
fn crowded(seed: u64, bug: Bug) -> Result<(), String> {
    alone(async {
        let model = Model::new(seed, bug);
        let range = Rc::new(Range::new(&model, 0));
        model.ranges.borrow_mut().push(range);
        crowd(&model).await;
        if let Some(broken) = model.broken.take() {
            return Err(broken);
        }
        model.is_calm.set(true);
        check_sums(&model).await
    })
}

#[test]
fn a_crowd_adds_to_one_counter() {
    for seed in seeds(300) {
        crowded(seed, Bug::None).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

/// Seeds to look at; more by `TXN_SEEDS`.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let told = std::env::var("TXN_SEEDS").ok();
    let first: u64 = std::env::var("TXN_FROM")
        .ok()
        .map_or(0, |from| from.parse().unwrap());
    first..first + told.map_or(few, |count| count.parse().unwrap())
}

#[test]
fn transactions_are_strictly_serializable() {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds(1_000) {
        let (all, done) = run(seed, Bug::None).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        *ends.entry("all").or_default() += all;
        *ends.entry("done").or_default() += done;
    }
    println!("{ends:?}");
    // Most of what is asked for is done, or little would be shown.
    assert!(2 * ends["done"] > ends["all"], "{ends:?}");
}

fn finds(bug: Bug) {
    finds_in(bug, |seed| run(seed, bug).err());
}

fn finds_in(bug: Bug, run: impl Fn(u64) -> Option<String>) {
    let found = seeds(10_000).find_map(|seed| Some((seed, run(seed)?)));
    let (seed, why) = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
    println!("{bug:?}: seed {seed}: {why}");
}

#[test]
fn finds_a_leader_without_a_cache() {
    finds(Bug::NoCache);
}

#[test]
fn finds_a_new_leader_with_an_empty_cache() {
    finds(Bug::EmptyCache);
}

#[test]
fn finds_a_new_leader_that_writes_below_a_lease() {
    finds(Bug::BelowLease);
}

#[test]
fn finds_a_former_leader_that_lets_be_read_above_its_lease() {
    finds(Bug::PastLease);
}

#[test]
fn finds_a_push_that_is_not_written() {
    finds(Bug::PushUnwritten);
}

#[test]
fn finds_a_commit_despite_a_failed_intent() {
    finds(Bug::FailedIntent);
}

#[test]
fn finds_an_oracle_that_answers_from_an_old_window() {
    finds(Bug::OldWindow);
}

#[test]
fn finds_a_record_that_is_dropped_too_early() {
    finds(Bug::ForgottenEarly);
}

#[test]
fn finds_scans_that_end_each_other() {
    finds(Bug::ScansMixed);
}

#[test]
fn finds_a_name_that_is_not_closed() {
    finds(Bug::NotClosed);
}

#[test]
fn finds_a_commit_behind_the_drop_of_a_keyspace() {
    finds(Bug::LateCommit);
}

#[test]
fn finds_a_record_that_goes_with_its_keyspace() {
    finds(Bug::ForgottenWithKeyspace);
}

#[test]
fn finds_a_lock_that_is_believed() {
    finds(Bug::LockBelieved);
}

#[test]
fn finds_scans_that_are_not_refreshed() {
    finds(Bug::ScansNotRefreshed);
}

#[test]
fn finds_a_refresh_that_is_not_noted() {
    finds(Bug::RefreshNotNoted);
}

#[test]
fn finds_an_update_that_is_answered_early() {
    finds(Bug::AnsweredEarly);
}

#[test]
fn finds_an_update_that_does_not_say_what_it_relies_on() {
    finds(Bug::ChecksLeftOut);
}

#[test]
fn finds_what_is_expected_after_a_refusal() {
    let bug = Bug::ExpectedAfterRefusal;
    finds_in(bug, |seed| crowded(seed, bug).err());
}

#[test]
fn finds_intents_of_an_attempt_that_are_left() {
    finds(Bug::IntentsLeft);
}

#[test]
fn finds_a_repeat_that_runs_twice() {
    finds(Bug::RunTwice);
}
