//! Clients: they read lists and append to them, by transactions over several ranges, by single keys, by scans.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_history::{Outcome as End, Step, Transaction};
use dunlin_txn::{
    Answer, Check, Id, NameOutcome, Outcome, Refusal, Request, Share, Unheard, Wall, Way, World,
    Write, close, commit,
};
use futures_util::future::join;
use tokio::time::{sleep, timeout};

use crate::bugs::Bug;
use crate::lists::{
    Done, KEYS, Seen, append, finish, finished, list_of, lock, name, page, ranges_of, read, reads,
    scan_range, some_keys, text, unchanged, value_of,
};
use crate::model::Model;
use crate::update::some_update;
use crate::{later, update};

/// One client, which does so many things one after the other.
pub async fn work(model: Rc<Model>, process: u64, count: u64) {
    for _ in 0..count {
        sleep(model.ms(0, 30)).await;
        let invoked = model.moment();
        let value = model.next_value.get() + 1;
        model.next_value.set(value);
        let (steps, doing): (Vec<Step>, _) = match model.below(15) {
            0..4 => {
                let keys = some_keys(&model);
                let appends = keys.iter().map(|(range, key)| append(*range, *key, value));
                let model = model.clone();
                (appends.collect(), Doing::Append(model, keys, value))
            }
            4 => (vec![], Doing::ReadAll(model.clone())),
            5..9 => (vec![], Doing::Scan(model.clone())),
            9 => (vec![], Doing::ReadOne(model.clone(), some_keys(&model)[0])),
            10..12 => {
                let keys = some_keys(&model);
                let appends = keys.iter().map(|(range, key)| append(*range, *key, value));
                let model = model.clone();
                (appends.collect(), Doing::Later(model, keys, value))
            }
            12..14 => {
                let (range, key) = some_update(&model);
                let steps = key.map(|key| append(range, key, value));
                let doing = Doing::Update(model.clone(), (range, key), value);
                (steps.into_iter().collect(), doing)
            }
            _ => {
                let (range, key) = some_keys(&model)[0];
                let steps = vec![append(range, key, value)];
                (steps, Doing::Swap(model.clone(), (range, key), value))
            }
        };
        // It may die at any time.
        let patience = if model.one_in(12) {
            model.ms(0, 30)
        } else {
            model.ms(20_000, 20_000)
        };
        let done = timeout(patience, doing.run()).await;
        let (steps, outcome) = match done {
            Ok(Done::Ok(steps)) => {
                let returned = model.moment();
                (steps, End::Ok { returned })
            }
            Ok(Done::Failed) => (steps, End::Failed),
            Ok(Done::Unknown) | Err(_) => (steps, End::Unknown { until: None }),
        };
        model.history.borrow_mut().push(Transaction {
            process,
            steps,
            invoked,
            outcome,
        });
    }
}

/// Everything, at one timestamp.
pub async fn read_all(model: &Rc<Model>) -> Option<Vec<Step>> {
    match Doing::ReadAll(model.clone()).run().await {
        Done::Ok(steps) => Some(steps),
        Done::Failed | Done::Unknown => None,
    }
}

enum Doing {
    Append(Rc<Model>, Vec<(u64, u64)>, u64),
    Later(Rc<Model>, Vec<(u64, u64)>, u64),
    ReadAll(Rc<Model>),
    Scan(Rc<Model>),
    ReadOne(Rc<Model>, (u64, u64)),
    Swap(Rc<Model>, (u64, u64), u64),
    Update(Rc<Model>, (u64, Option<u64>), u64),
}

impl Doing {
    async fn run(self) -> Done {
        match self {
            Doing::Later(model, keys, value) => later::append(&model, &keys, value).await,
            Doing::Append(model, keys, value) => append_all(&model, &keys, value).await,
            Doing::ReadAll(model) => {
                let world = model.clone().world();
                let Ok(at) = world.timestamp(Version(0)).await else {
                    return Done::Failed;
                };
                let all = ranges_of(&model)
                    .into_iter()
                    .flat_map(|range| (0..KEYS).map(move |key| (range, key)));
                let all: Vec<_> = all.collect();
                match read(&model, at, &all).await {
                    Some(lists) => Done::Ok(reads(&lists)),
                    None => Done::Failed,
                }
            }
            Doing::Scan(model) => scan(&model).await,
            Doing::ReadOne(model, (range, key)) => {
                let asked = Request::Read {
                    at: None,
                    keys: vec![name(range, key)],
                };
                match model.clone().world().ask(range, asked).await {
                    Ok(Answer::Values(values)) => {
                        let list = values[0].as_ref().map(|(_, value)| list_of(value));
                        let step = Step::Read(text(range, key), list.unwrap_or_default());
                        Done::Ok(vec![step])
                    }
                    _ => Done::Failed,
                }
            }
            Doing::Update(model, at, value) => update::add(&model, at, value).await,
            Doing::Swap(model, at, value) => swap(&model, at, value).await,
        }
    }
}

async fn append_all(model: &Rc<Model>, keys: &[(u64, u64)], value: u64) -> Done {
    let name = model.one_in(2).then(|| Id {
        ms: model.now_ms(),
        name: format!("{value}").into(),
        body: 1,
    });
    let mut repeats = 0;
    loop {
        let world = model.clone().world();
        let lock = lock(model, &world, keys[0]).await;
        let Ok(mut txn) = world.timestamp(Version(0)).await else {
            return Done::Failed;
        };
        let Some(lists) = read(model, txn, keys).await else {
            return if repeats > 0 {
                Done::Unknown
            } else {
                Done::Failed
            };
        };
        let mut steps = reads(&lists);
        // Either it reads and writes at one timestamp, or it checks later that what it read is still so.
        let is_checked = model.one_in(2);
        let believes = lock.is_some() && model.bug == Bug::LockBelieved;
        if is_checked {
            match world.timestamp(Version(0)).await {
                Ok(later) => txn = later,
                Err(_) => return Done::Failed,
            }
        }
        let mut shares: BTreeMap<u64, Share> = BTreeMap::new();
        for ((range, key), Seen { version, mut list }) in lists {
            let step = append(range, key, value);
            if let Step::Append(_, value) = &step {
                list.push(*value);
            }
            steps.push(step);
            let share = shares.entry(range).or_default();
            share.range = range;
            if is_checked && !believes {
                share.checks.push(Check {
                    key: self::name(range, key),
                    condition: unchanged(version),
                });
            }
            share.writes.push(Write {
                key: self::name(range, key),
                value: Some(value_of(&list)),
            });
        }
        let writes: Vec<Share> = shares.into_values().collect();
        let way = way(model);
        let called = name.as_ref().filter(|_| model.bug != Bug::RunTwice);
        let mut outcome = match &name {
            // Its client repeats it without having asked.
            Some(_) => commit_blindly(&world, txn, &writes, called, way).await,
            None => commit(&world, txn, &writes, None, way).await.0,
        };
        if let Some((range, number)) = lock.filter(|_| !model.one_in(4)) {
            drop(world.ask(range, Request::Unlock { number }).await);
        }
        let (holder, participants) = (writes[0].range, participants_of(&writes, way));
        let is_committed = outcome == Outcome::Committed;
        if model.bug == Bug::ForgottenEarly && is_committed {
            drop(world.ask(holder, finished(txn)).await);
        }
        let told = model.clone().world();
        if outcome != Outcome::Unknown && !model.one_in(4) {
            tokio::task::spawn_local(async move {
                finish(&told, txn, holder, &participants, is_committed).await;
            });
        }
        let has_outcome = matches!(outcome, Outcome::Committed | Outcome::Before(_));
        if let (Some(called), false) = (called, has_outcome) {
            let may_have_happened = outcome == Outcome::Unknown || repeats > 0;
            outcome = close(&world, holder, called, Refusal::Conflict).await;
            if may_have_happened && !matches!(outcome, Outcome::Before(_)) {
                outcome = Outcome::Unknown;
            }
        }
        if let (Some(called), Outcome::Before(NameOutcome::Refused(_))) = (called, &outcome) {
            arrives_late(model, called.clone(), writes);
        }
        return match outcome {
            Outcome::Committed => Done::Ok(steps),
            // What the attempt before read is not told.
            Outcome::Before(NameOutcome::Committed(_)) => {
                steps.retain(|step| matches!(step, Step::Append(..)));
                Done::Ok(steps)
            }
            Outcome::Unknown if name.is_some() && repeats < 5 => {
                repeats += 1;
                continue;
            }
            Outcome::Unknown => Done::Unknown,
            _ if repeats > 0 && called.is_none() => Done::Unknown,
            _ => Done::Failed,
        };
    }
}

/// An attempt under a name that the network has held back until its client has heard that nothing happened.
fn arrives_late(model: &Rc<Model>, id: Id, writes: Vec<Share>) {
    let model = model.clone();
    tokio::task::spawn_local(async move {
        sleep(model.ms(0, 100)).await;
        let world = model.clone().world();
        if let Ok(txn) = world.timestamp(Version(0)).await {
            drop(commit(&world, txn, &writes, Some(&id), Way::Short).await);
        }
    });
}

/// The ranges that get intents.
fn participants_of(shares: &[Share], way: Way) -> Vec<u64> {
    let skipped = usize::from(way == Way::Short);
    let shares = shares.iter().skip(skipped);
    shares.map(|share| share.range).collect()
}

fn way(model: &Model) -> Way {
    if model.one_in(8) {
        Way::Long
    } else {
        Way::Short
    }
}

/// As `commit`, but what became of one that was not answered is not asked.
async fn commit_blindly(
    world: &impl World,
    txn: Version,
    writes: &[Share],
    id: Option<&Id>,
    way: Way,
) -> Outcome {
    struct Deaf<'a, W>(&'a W);
    impl<W: World> World for Deaf<'_, W> {
        async fn ask(&self, range: u64, request: Request) -> Result<Answer, Unheard> {
            match request {
                Request::Push { .. } => Ok(Answer::Forgotten),
                request => self.0.ask(range, request).await,
            }
        }
        async fn timestamp(&self, above: Version) -> Result<Version, Answer> {
            self.0.timestamp(above).await
        }
        async fn pause(&self, ms: u64) {
            self.0.pause(ms).await;
        }
        fn elapsed_ms(&self) -> u64 {
            self.0.elapsed_ms()
        }
        fn left_ms(&self) -> u64 {
            self.0.left_ms()
        }
        fn wall(&self) -> Wall {
            self.0.wall()
        }
        fn intent_ms(&self) -> u64 {
            self.0.intent_ms()
        }
    }
    commit(&Deaf(world), txn, writes, id, way).await.0
}

/// Scans all ranges, often beside another scan of the same transaction, and sees the same when it scans them again.
async fn scan(model: &Rc<Model>) -> Done {
    let world = model.clone().world();
    let Ok(at) = world.timestamp(Version(0)).await else {
        return Done::Failed;
    };
    let mut steps = Vec::new();
    for range in ranges_of(model) {
        let rows = scan_range(model, at, range);
        let rows = if model.one_in(2) {
            // One of two keys.
            let (start, end) = (Bytes::new(), Some(name(range, 2)));
            let beside = page(model, range, at, (start, end), 1);
            join(beside, rows).await.1
        } else {
            rows.await
        };
        let Some(rows) = rows else {
            return Done::Failed;
        };
        for key in 0..KEYS {
            let row = rows.iter().find(|(found, _, _)| *found == name(range, key));
            let list = row.map(|(_, _, value)| list_of(value)).unwrap_or_default();
            steps.push(Step::Read(text(range, key), list));
        }
        sleep(model.ms(0, 10)).await;
        if let Some(again) = scan_range(model, at, range).await
            && again != rows
        {
            let broken = format!("a scan at {at:?} shows {rows:?}, and later {again:?}");
            *model.broken.borrow_mut() = Some(broken);
        }
    }
    Done::Ok(steps)
}

/// Reads a key and appends to it on the condition that nobody else has.
async fn swap(model: &Rc<Model>, (range, key): (u64, u64), value: u64) -> Done {
    let world = model.clone().world();
    let asked = Request::Read {
        at: None,
        keys: vec![name(range, key)],
    };
    let Ok(Answer::Values(values)) = world.ask(range, asked).await else {
        return Done::Failed;
    };
    let (version, mut list) = match &values[0] {
        Some((version, value)) => (Some(*version), list_of(value)),
        None => (None, Vec::new()),
    };
    let step = append(range, key, value);
    let before = Step::Read(text(range, key), list.clone());
    if let Step::Append(_, value) = &step {
        list.push(*value);
    }
    let asked = Request::Write {
        deadline: Version::MAX,
        floor: Version(0),
        condition: unchanged(version),
        write: Write {
            key: name(range, key),
            value: Some(value_of(&list)),
        },
    };
    match world.ask(range, asked).await {
        Ok(Answer::Done(_)) => Done::Ok(vec![before, step]),
        Ok(Answer::Unknown) | Err(Unheard::Maybe) => Done::Unknown,
        _ => Done::Failed,
    }
}
