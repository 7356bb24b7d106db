//! Transactions that leaders evaluate: they append to a list on a condition, and add to a counter that all share.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_history::Step;
use dunlin_txn::{
    Answer, Check, Command, Id, NameOutcome, Outcome, Refusal, Request, Unheard, Update, World,
    Write, close, finalize_all,
};

use crate::lists::{
    Done, KEYS, append as step_of, list_of, name, ranges_of, text, unchanged, value_of,
};
use crate::model::Model;
use crate::sums::Sum;

pub fn counter(range: u64) -> Bytes {
    format!("{range}/c").into()
}

/// A key that is written and never read: intents of others there refuse an entry when it is applied.
fn mark(range: u64) -> Write {
    Write {
        key: format!("{range}/m").into(),
        value: None,
    }
}

/// A range, and the key of a list where it is not for the counter alone.
pub fn some_update(model: &Model) -> (u64, Option<u64>) {
    let ranges = ranges_of(model);
    // One of them is hot.
    let range = if model.below(2) == 0 {
        ranges[0]
    } else {
        ranges[model.below(ranges.len() as u64) as usize]
    };
    let key = (model.below(2) == 0).then(|| model.below(KEYS));
    (range, key)
}

/// Adds to the counter of a range and reads its lists; perhaps it appends to one of them, if that is as it was before.
pub async fn add(model: &Rc<Model>, (range, key): (u64, Option<u64>), value: u64) -> Done {
    let world = model.clone().world();
    let id = model.one_in(2).then(|| Id {
        ms: model.now_ms(),
        name: format!("{value}-update").into(),
        body: 2,
    });
    let mut update = Update {
        deadline: Version::MAX,
        bytes_max: 1 << 20,
        reads: (0..KEYS).map(|key| name(range, key)).collect(),
        writes: vec![Write {
            key: counter(range),
            value: None,
        }],
        adds: vec![(0, 1)],
        id,
        ..Update::default()
    };
    if model.below(2) == 0 {
        update.writes.push(mark(range));
    }
    let step = key.map(|key| step_of(range, key, value));
    if let (Some(key), Some(Step::Append(_, value))) = (key, &step) {
        let read = Request::Read {
            at: None,
            keys: vec![name(range, key)],
        };
        let Ok(Answer::Values(values)) = world.ask(range, read).await else {
            return Done::Failed;
        };
        let before = values[0].as_ref();
        let mut list = before.map_or_else(Vec::new, |(_, value)| list_of(value));
        list.push(*value);
        update.checks.push(Check {
            key: name(range, key),
            condition: unchanged(before.map(|(version, _)| *version)),
        });
        update.writes.push(Write {
            key: name(range, key),
            value: Some(value_of(&list)),
        });
    }
    // Its client may die.
    model.sums.borrow_mut().unknown.push(range);
    let number = model.sums.borrow().unknown.len() - 1;
    let done = send(model, range, update, step).await;
    if !matches!(done, Done::Unknown) {
        model.sums.borrow_mut().unknown[number] = u64::MAX;
    }
    done
}

async fn send(model: &Rc<Model>, range: u64, update: Update, step: Option<Step>) -> Done {
    let invoked = model.moment();
    let mut repeats = 0;
    loop {
        let world = model.clone().world();
        let answer = world.ask(range, Request::Update(update.clone())).await;
        let outcome = match answer {
            Ok(Answer::Updated { values, sums, .. }) => {
                let returned = model.moment();
                model.sums.borrow_mut().answered.push(Sum {
                    range,
                    sum: sums[0],
                    invoked,
                    returned,
                });
                let read = |(key, value): (u64, Option<(Version, Bytes)>)| {
                    let list = value.map_or_else(Vec::new, |(_, value)| list_of(&value));
                    Step::Read(text(range, key), list)
                };
                let reads = (0..).zip(values).map(read);
                return Done::Ok(reads.chain(step).collect());
            }
            Ok(Answer::CommittedBefore(at)) => Outcome::Before(NameOutcome::Committed(at)),
            Ok(Answer::Unknown) | Err(Unheard::Maybe) if update.id.is_some() && repeats < 5 => {
                repeats += 1;
                continue;
            }
            Ok(Answer::Unknown | Answer::Forgotten) | Err(Unheard::Maybe) => Outcome::Unknown,
            Ok(Answer::Busy | Answer::Blocked(_)) => {
                let broken = format!("an update of range {range} was refused for others' sake");
                *model.broken.borrow_mut() = Some(broken);
                return Done::Unknown;
            }
            _ => Outcome::Conflict(None),
        };
        let outcome = match (&update.id, outcome) {
            (Some(id), Outcome::Conflict(_)) => close(&world, range, id, Refusal::Conflict).await,
            (_, outcome) => outcome,
        };
        return match outcome {
            Outcome::Before(NameOutcome::Committed(_)) => {
                model.sums.borrow_mut().happened.push(range);
                Done::Ok(step.into_iter().collect())
            }
            Outcome::Before(NameOutcome::Refused(_)) => Done::Failed,
            Outcome::Conflict(_) if update.id.is_none() => Done::Failed,
            _ => Done::Unknown,
        };
    }
}

/// Many updates of one counter, while others place intents at a key that these write, and give up.
pub async fn crowd(model: &Rc<Model>) {
    let adding = (1..=8u64).map(|client| {
        let model = model.clone();
        tokio::task::spawn_local(async move {
            for turn in 0..6 {
                add(&model, (0, None), 10 * client + turn).await;
            }
        })
    });
    let adding: Vec<_> = adding.collect();
    while !adding.iter().all(tokio::task::JoinHandle::is_finished) {
        let world = model.clone().world();
        let Ok(txn) = world.timestamp(Version(0)).await else {
            continue;
        };
        let place = Command::Place {
            txn,
            holder: 0,
            checks: vec![],
            writes: vec![mark(0)],
        };
        drop(world.ask(0, Request::Enter(place)).await);
        finalize_all(&world, txn, &[0], false).await;
    }
}
