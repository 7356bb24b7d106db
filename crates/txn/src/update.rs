//! A transaction whose keys all lie in one range, evaluated by its leader.
//!
//! The leader evaluates it on the state behind all entries that it has proposed, applied or not yet. The entry that it proposes names
//! the version of every key that was read, and every replica checks these when it applies the entry. So a wrong
//! expectation costs another attempt, never data. Nothing is answered before the entry is applied; and where nothing is
//! proposed, for a check does not hold, the answer comes from a read at a timestamp.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_proto::Condition;

use crate::command::{Check, Command, Write};
use crate::commit::{Outcome, outcome};
use crate::leader::{Expected, Leader};
use crate::request::{Answer, Blocker, Update};
use crate::serve::{Here, Newest, Replica, Waits, World, final_answer, timely};
use crate::state::{ORIGIN, State, Verdict, holds};
use crate::sum::sum;

/// A leader evaluates no more keys than this.
const KEYS_MAX: usize = 4_096;

/// A value with its version.
type Value = Option<(Version, Bytes)>;

/// What an update came to, before it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Evaluated {
    values: Vec<Value>,
    sums: Vec<i64>,
}

/// Why an update is not proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stop {
    /// A check does not hold, or nothing can be added: the answer, if it is certain.
    Refused(Answer),
    /// Something is in its way.
    Blocked(Blocker),
    /// What a key has is known once this index is applied.
    Unknown(u64),
    /// These keys are not in memory.
    NotInMemory(Vec<Bytes>),
    /// There is too much of it for a leader.
    TooLarge,
}

impl Update {
    /// Keys that are read, each once: those whose values are answered, checked, or added to.
    fn read_keys(&self) -> Vec<&Bytes> {
        let checked = self.checks.iter().map(|check| &check.key);
        let added = (self.adds.iter())
            .filter_map(|(number, _)| self.writes.get(*number as usize))
            .map(|write| &write.key);
        let mut keys: Vec<&Bytes> = self.reads.iter().chain(checked).chain(added).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Evaluates it on values of the keys that it reads: the values and sums to answer.
    fn evaluate(&self, found: &BTreeMap<&Bytes, Value>) -> Result<Evaluated, Answer> {
        let value = |key: &Bytes| found.get(key).and_then(Option::as_ref);
        for (number, check) in (0..).zip(&self.checks) {
            let version = value(&check.key).map(|(version, _)| *version);
            if !holds(check.condition, version) {
                return Err(Answer::CheckFailed(number, version));
            }
        }
        let mut sums = Vec::with_capacity(self.adds.len());
        for (number, add) in &self.adds {
            let write = self.writes.get(*number as usize);
            let before = write.and_then(|write| value(&write.key));
            let added = sum(before.map(|(_, value)| value), *add);
            sums.push(added.map_err(|why| Answer::NotAdded(*number, why))?);
        }
        let values = self.reads.iter().map(|key| value(key).cloned());
        Ok(Evaluated {
            values: values.collect(),
            sums,
        })
    }

    /// The entry that has its effect, if the keys that it reads have these versions.
    fn entry(&self, at: Version, found: &BTreeMap<&Bytes, Value>, sums: &[i64]) -> Command {
        let checks = found.iter().map(|(key, value)| Check {
            key: (*key).clone(),
            condition: match value {
                Some((version, _)) => Condition::Is(Stamp::new(*version, ORIGIN)),
                None => Condition::Absent,
            },
        });
        let mut writes = self.writes.clone();
        for ((number, _), sum) in self.adds.iter().zip(sums) {
            if let Some(write) = writes.get_mut(*number as usize) {
                write.value = Some(sum.to_string().into());
            }
        }
        Command::Commit {
            txn: at,
            participants: Vec::new(),
            checks: checks.collect(),
            writes,
            id: self.id.clone(),
        }
    }
}

/// The version that a key has at a timestamp, once all proposed entries are applied.
fn expected(
    (state, leader): (&State, &Leader),
    newest: &impl Fn(&Bytes) -> Result<Newest, Answer>,
    at: Version,
    key: &Bytes,
) -> Result<Result<Newest, Stop>, Answer> {
    let newest = match leader.expected(key) {
        Some(Expected::Unknown(index)) => return Ok(Err(Stop::Unknown(index))),
        Some(Expected::Version(version, value)) => Newest::Version(version, value),
        None => newest(key)?,
    };
    Ok(match newest {
        Newest::Version(version, _) if version >= at => {
            let key = key.clone();
            Err(Stop::Blocked(Blocker::Newer { key, at: version }))
        }
        newest => match state.in_the_way(at, key) {
            Some(blocker) => Err(Stop::Blocked(blocker)),
            None => Ok(newest),
        },
    })
}

/// The entry of an update at a timestamp, and the answer once it is applied.
fn make(
    update: &Update,
    at: Version,
    known: (&State, &Leader),
    newest: &impl Fn(&Bytes) -> Result<Newest, Answer>,
) -> Result<Result<(Command, Evaluated), Stop>, Answer> {
    let (mut found, mut missing, mut bytes) = (BTreeMap::new(), Vec::new(), 0);
    for key in update.read_keys() {
        match expected(known, newest, at, key)? {
            Ok(Newest::NotInMemory) => missing.push(key.clone()),
            Ok(Newest::Version(version, Some(value))) => {
                bytes += value.len();
                found.insert(key, Some((version, value)));
            }
            Ok(Newest::Version(_, None) | Newest::Absent) => drop(found.insert(key, None)),
            Err(stop) => return Ok(Err(stop)),
        }
        if found.len() > KEYS_MAX || bytes > update.bytes_max as usize {
            return Ok(Err(Stop::TooLarge));
        }
    }
    if !missing.is_empty() {
        return Ok(Err(Stop::NotInMemory(missing)));
    }
    let intent = |write: &Write| known.0.in_the_way(at, &write.key);
    if let Some(blocker) = update.writes.iter().find_map(intent) {
        return Ok(Err(Stop::Blocked(blocker)));
    }
    Ok(match update.evaluate(&found) {
        Ok(evaluated) => Ok((update.entry(at, &found, &evaluated.sums), evaluated)),
        Err(refused) => Err(Stop::Refused(refused)),
    })
}

impl<W: World, R: Replica> Here<'_, W, R> {
    /// Evaluates an update, at new timestamps until nothing is in its way.
    pub(crate) async fn update(&self, update: &Update) -> Result<Answer, Answer> {
        // Transactions over several requests, and over several ranges, wait for their turn; nothing relies on it.
        let has_queue = |leader: &Leader| {
            let mut keys = update.writes.iter().map(|write| &write.key);
            keys.find(|key| leader.locks.has_queue(key)).cloned()
        };
        let hot = (self.replica).with(|_, leader| has_queue(leader))?;
        let Some(key) = hot else {
            return self.evaluate(update).await;
        };
        // It goes on without it where too many wait.
        let _turn = self.lock(&key).await.ok();
        self.evaluate(update).await
    }

    async fn evaluate(&self, update: &Update) -> Result<Answer, Answer> {
        let (mut above, mut waits) = (update.floor, Waits::new());
        let (mut has_loaded, mut last) = (false, None);
        while self.world.left_ms() > 0 {
            let at = timely(self.world, (above, update.floor), update.deadline).await?;
            let newest = |key: &Bytes| self.replica.newest(key);
            let mut evaluated = None;
            let make = |state: &State, leader: &Leader| {
                let made = make(update, at, (state, leader), &newest)?;
                Ok(made.map(|(command, answer)| {
                    evaluated = Some(answer);
                    command
                }))
            };
            let proposed = self.replica.propose_made(make).await;
            let blocker = match proposed {
                Ok(Ok(Verdict::Committed)) => return Ok(updated(at, evaluated)),
                Ok(Ok(Verdict::Blocked(blocker))) => blocker,
                // Something that was expected did not happen.
                Ok(Ok(Verdict::CheckFailed(..))) => continue,
                Ok(Ok(refusal)) => return Ok(final_answer(refusal, at)),
                Ok(Err(Stop::Blocked(blocker))) => blocker,
                Ok(Err(Stop::Unknown(index))) => {
                    self.replica.applied(index).await?;
                    continue;
                }
                Ok(Err(Stop::Refused(_))) => match self.refused_at(update, at).await? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                },
                Ok(Err(Stop::NotInMemory(keys))) if !has_loaded => {
                    has_loaded = true;
                    self.replica.get(Version::MAX, keys).await?;
                    continue;
                }
                Ok(Err(Stop::NotInMemory(_) | Stop::TooLarge)) => return Ok(Answer::TooLarge),
                Err(Answer::Unknown) => return self.end(at, evaluated).await,
                Err(instead) => return Err(instead),
            };
            match blocker {
                Blocker::Newer { at: newer, .. } => above = above.max(newer),
                Blocker::Old(old) => above = above.max(old),
                Blocker::Intent { .. } if self.clear(&blocker, at).await? => {}
                Blocker::Intent { .. } => waits.pause(self.world).await,
            }
            last = Some(blocker);
        }
        Ok(last.map_or(Answer::Busy, Answer::Blocked))
    }

    /// Why an update is refused at a timestamp, by the values of its keys there; none where it is not.
    async fn refused_at(&self, update: &Update, at: Version) -> Result<Option<Answer>, Answer> {
        let keys = update.read_keys();
        let all = keys.iter().map(|key| (*key).clone()).collect();
        let values = self.values(at, all).await?;
        if values.len() < keys.len() {
            return Ok(Some(Answer::TooLarge));
        }
        let found = keys.into_iter().zip(values).collect();
        Ok(update.evaluate(&found).err())
    }

    /// What became of an update whose entry is lost from sight, for another leads.
    async fn end(&self, at: Version, evaluated: Option<Evaluated>) -> Result<Answer, Answer> {
        match outcome(self.world, at, self.replica.range()).await {
            Outcome::Committed => Ok(updated(at, evaluated)),
            Outcome::Conflict(_) => Err(Answer::NotLeader(None)),
            _ => Err(Answer::Unknown),
        }
    }
}

fn updated(at: Version, evaluated: Option<Evaluated>) -> Answer {
    match evaluated {
        Some(Evaluated { values, sums }) => Answer::Updated { at, values, sums },
        None => Answer::Unknown,
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
