//! Transactions over several requests: they read at one timestamp, and commit at a later one.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_history::Step;
use dunlin_txn::{
    Check, Id, Outcome, Reads, Request, Share, Span, World, Write, commit_later, refresh,
};
use tokio::time::sleep;

use crate::bugs::Bug;
use crate::lists::{
    Done, KEYS, append as step_of, finish, list_of, lock, name, ranges_of, read, reads, scan_range,
    some_keys, text, unchanged, value_of,
};
use crate::model::Model;

/// Reads keys, perhaps scans a range, thinks, and appends to the keys.
pub async fn append(model: &Rc<Model>, keys: &[(u64, u64)], value: u64) -> Done {
    let world = model.clone().world();
    let Ok(mut at) = world.timestamp(Version(0)).await else {
        return Done::Failed;
    };
    let Some((mut steps, scans)) = scan(model, at).await else {
        return Done::Failed;
    };
    let lock = lock(model, &world, keys[0]).await;
    if lock.is_some() {
        // It goes on at a later timestamp, if it can.
        let Ok(later) = world.timestamp(Version(0)).await else {
            return Done::Failed;
        };
        if refresh(&world, at, later, &scans).await.is_some() {
            return Done::Failed;
        }
        at = later;
    }
    // Some it reads alone.
    let mut all: Vec<(u64, u64)> = some_keys(model);
    all.extend(keys);
    all.sort_unstable();
    all.dedup();
    let Some(lists) = read(model, at, &all).await else {
        return Done::Failed;
    };
    steps.extend(reads(&lists));
    sleep(model.ms(0, 60)).await;
    let (mut shares, mut apart) = (BTreeMap::<u64, Share>::new(), Vec::new());
    for ((range, key), seen) in lists {
        if !keys.contains(&(range, key)) {
            apart.push((range, span(range, key)));
            continue;
        }
        let step = step_of(range, key, value);
        let mut list = seen.list;
        if let Step::Append(_, value) = &step {
            list.push(*value);
        }
        steps.push(step);
        let share = shares.entry(range).or_default();
        share.range = range;
        let key = name(range, key);
        let value = Some(value_of(&list));
        share.checks.push(Check {
            key: key.clone(),
            condition: unchanged(seen.version),
        });
        share.writes.push(Write { key, value });
    }
    let mut all: Vec<Reads> = (apart.into_iter())
        .map(|(range, span)| Reads {
            range,
            spans: vec![span],
        })
        .collect();
    if model.bug != Bug::ScansNotRefreshed {
        all.extend(scans);
    }
    let shares: Vec<Share> = shares.into_values().collect();
    let id = Id {
        ms: model.now_ms(),
        name: format!("{value}-later").into(),
        body: 0,
    };
    let world = model.clone().world();
    let (at, outcome, intents_at) = commit_later(&world, (at, at), &shares, &all, &id).await;
    if let Some((range, number)) = lock.filter(|_| !model.one_in(4)) {
        drop(world.ask(range, Request::Unlock { number }).await);
    }
    let is_committed = outcome == Outcome::Committed;
    if outcome != Outcome::Unknown && !model.one_in(4) {
        let holder = shares[0].range;
        tokio::task::spawn_local(async move {
            finish(&world, at, holder, &intents_at, is_committed).await;
        });
    }
    match outcome {
        Outcome::Committed => Done::Ok(steps),
        Outcome::Unknown => Done::Unknown,
        _ => Done::Failed,
    }
}

/// Scans a range, now and then: what it read, and what it is to look at again.
async fn scan(model: &Rc<Model>, at: Version) -> Option<(Vec<Step>, Vec<Reads>)> {
    if model.below(2) == 0 {
        return Some(Default::default());
    }
    let ranges = ranges_of(model);
    let range = ranges[model.below(ranges.len() as u64) as usize];
    let rows = scan_range(model, at, range).await?;
    let mut steps = Vec::new();
    for key in 0..KEYS {
        let row = rows.iter().find(|(found, _, _)| *found == name(range, key));
        let list = row.map(|(_, _, value)| list_of(value)).unwrap_or_default();
        steps.push(Step::Read(text(range, key), list));
    }
    let spans = vec![(Bytes::new(), None)];
    Some((steps, vec![Reads { range, spans }]))
}

fn span(range: u64, key: u64) -> Span {
    let key = name(range, key);
    let behind = Bytes::from([&key[..], &[0]].concat());
    (key, Some(behind))
}
