//! Lists as values of keys, and requests for them.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_history::Step;
use dunlin_proto::Condition;
use dunlin_txn::{Answer, Command, ORIGIN, Request, Row, World, finalize_all};
use futures_util::future::join_all;

use crate::model::Model;

/// Keys of each range.
pub const KEYS: u64 = 3;

/// What one attempt came to.
pub enum Done {
    Ok(Vec<Step>),
    Failed,
    Unknown,
}

/// Those whose keyspaces are there.
pub fn ranges_of(model: &Model) -> Vec<u64> {
    let ranges = model.ranges.borrow();
    let present = ranges.iter().filter(|range| !range.is_purged.get());
    present.map(|range| range.id).collect()
}

pub fn some_keys(model: &Model) -> Vec<(u64, u64)> {
    let ranges = ranges_of(model);
    let count = 1 + model.below(3);
    let range = || ranges[model.below(ranges.len() as u64) as usize];
    let mut keys: Vec<_> = (0..count).map(|_| (range(), model.below(KEYS))).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

pub fn text(range: u64, key: u64) -> String {
    format!("{range}/{key}")
}

pub fn name(range: u64, key: u64) -> Bytes {
    text(range, key).into()
}

pub fn append(range: u64, key: u64, value: u64) -> Step {
    Step::Append(text(range, key), value * 10 + key + range * KEYS)
}

pub fn list_of(value: &Bytes) -> Vec<u64> {
    let text = std::str::from_utf8(value).unwrap();
    text.split_terminator(',')
        .map(|n| n.parse().unwrap())
        .collect()
}

pub fn value_of(list: &[u64]) -> Bytes {
    list.iter()
        .map(|n| format!("{n},"))
        .collect::<String>()
        .into()
}

/// A list as it was read.
#[derive(Default)]
pub struct Seen {
    pub version: Option<Version>,
    pub list: Vec<u64>,
}

pub type Lists = BTreeMap<(u64, u64), Seen>;

pub fn reads(lists: &Lists) -> Vec<Step> {
    let read = |((range, key), seen): (&(u64, u64), &Seen)| {
        Step::Read(text(*range, *key), seen.list.clone())
    };
    lists.iter().map(read).collect()
}

pub async fn read(model: &Rc<Model>, at: Version, keys: &[(u64, u64)]) -> Option<Lists> {
    let mut by_range: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (range, key) in keys {
        by_range.entry(*range).or_default().push(*key);
    }
    let world = model.clone().world();
    let asked = by_range.iter().map(|(range, keys)| {
        let keys = keys.iter().map(|key| name(*range, *key)).collect();
        world.ask(*range, Request::Read { at: Some(at), keys })
    });
    let told = join_all(asked).await;
    let mut lists = Lists::new();
    for ((range, keys), told) in by_range.iter().zip(told) {
        let Ok(Answer::Values(values)) = told else {
            return None;
        };
        for (key, value) in keys.iter().zip(values) {
            let seen = value.map(|(version, value)| Seen {
                version: Some(version),
                list: list_of(&value),
            });
            lists.insert((*range, *key), seen.unwrap_or_default());
        }
    }
    Some(lists)
}

/// Takes the lock of a key, now and then: its range and its number.
pub async fn lock(
    model: &Model,
    world: &impl World,
    (range, key): (u64, u64),
) -> Option<(u64, u64)> {
    if model.below(3) > 0 {
        return None;
    }
    let key = name(range, key);
    match world
        .ask(
            range,
            Request::Lock {
                key,
                floor: Version(0),
                reads: vec![],
            },
        )
        .await
    {
        Ok(Answer::Locked { number, .. }) => Some((range, number)),
        _ => None,
    }
}

/// That a key still has this version.
pub fn unchanged(version: Option<Version>) -> Condition {
    match version {
        Some(version) => Condition::Is(Stamp::new(version, ORIGIN)),
        None => Condition::Absent,
    }
}

pub fn finished(txn: Version) -> Request {
    Request::Enter(Command::Finished { txns: vec![txn] })
}

pub async fn finish(
    world: &impl World,
    txn: Version,
    holder: u64,
    participants: &[u64],
    is_committed: bool,
) {
    let is_told = finalize_all(world, txn, participants, is_committed).await;
    if is_told && is_committed {
        drop(world.ask(holder, finished(txn)).await);
    }
}

/// All rows of a range, page by page.
pub async fn scan_range(model: &Rc<Model>, at: Version, range: u64) -> Option<Vec<Row>> {
    let (mut rows, mut next) = (Vec::new(), Some(Bytes::new()));
    while let Some(start) = next {
        let limit = 1 + model.below(3) as u32;
        let (page, rest) = page(model, range, at, (start, None), limit).await?;
        rows.extend(page);
        next = rest;
    }
    Some(rows)
}

/// One page, and where the next begins.
pub async fn page(
    model: &Rc<Model>,
    range: u64,
    at: Version,
    (start, end): (Bytes, Option<Bytes>),
    limit: u32,
) -> Option<(Vec<Row>, Option<Bytes>)> {
    let request = Request::Page {
        at: Some(at),
        start,
        end,
        limit,
    };
    match model.clone().world().ask(range, request).await {
        Ok(Answer::Page(rows, next)) => Some((rows, next)),
        _ => None,
    }
}
