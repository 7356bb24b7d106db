//! What a range's entries do. Pure, and the same at every replica: all apply the same entries in the same order.
//!
//! Versions need not be written in the order of their timestamps, so what a leader has let be read or written at a
//! later timestamp it refuses before (`leader`). What stands here holds whoever leads:
//! - a key has one intent at most, and nothing is written beside it but by its own transaction;
//! - a transaction either commits or is aborted, and that never changes;
//! - nothing happens at or below the watermark;
//! - while its keyspace is dropped nothing is written or committed: a commit behind the drop is aborted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use dunlin_entry::{Origin, Stamp, Version};
use dunlin_proto::Condition;

use crate::command::{Check, Command, Id, Refusal, Write};
use crate::intent::Intent;
use crate::record::{IdRecord, NameOutcome, Record};
use crate::request::Blocker;

/// The origin of all versions of ranges: order is by timestamps, not by who wrote.
pub const ORIGIN: Origin = Origin(0);

/// A range's rows, with what the entries that are being applied have changed.
pub trait Rows {
    /// Why they cannot be read.
    type Error;

    /// The newest version of a key, and whether it is a value.
    ///
    /// # Errors
    /// When it cannot be read.
    fn newest(&mut self, key: &Bytes) -> Result<Option<(Version, bool)>, Self::Error>;

    /// The record of a transaction.
    ///
    /// # Errors
    /// When it cannot be read.
    fn record(&mut self, txn: Version) -> Result<Option<Record>, Self::Error>;

    /// The record of a name.
    ///
    /// # Errors
    /// When it cannot be read.
    fn id(&mut self, id: &Id) -> Result<Option<IdRecord>, Self::Error>;

    /// A key has this value at this version; none deletes it.
    fn put_version(&mut self, key: &Bytes, version: Version, value: Option<&Bytes>);

    /// A key has an intent.
    fn put_intent(&mut self, key: &Bytes, intent: &Intent);

    /// A key's intent is gone.
    fn remove_intent(&mut self, key: &Bytes);

    /// A transaction has this record.
    fn put_record(&mut self, txn: Version, record: &Record);

    /// A name has this record.
    fn put_id(&mut self, id: &Id, record: &IdRecord);

    /// Records of transactions up to this one are gone, and of names that are as old.
    fn remove_records(&mut self, up_to: Version);
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It happened.
    Done,
    /// Its condition does not hold; the version there is, if there is a value.
    ConditionFailed(Option<Version>),
    /// Its check of this number does not hold; the same. Nothing happened.
    CheckFailed(u32, Option<Version>),
    /// Something is in its way; nothing happened.
    Blocked(Blocker),
    /// The transaction is aborted.
    Aborted,
    /// The transaction has committed.
    Committed,
    /// An attempt under the same name has committed, at this timestamp.
    CommittedBefore(Version),
    /// No attempt under this name has an effect, nor will.
    RefusedBefore(Refusal),
    /// Something else has the same name.
    NameTaken,
    /// The transaction is older than what is remembered.
    Forgotten,
}

/// What becomes of an entry, or why that cannot be known.
pub type Judged<E> = Result<Verdict, E>;

/// What of a range is kept in memory: intents, and transactions that somebody may still have to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    intents: BTreeMap<Bytes, Intent>,
    keys_of: BTreeMap<Version, BTreeSet<Bytes>>,
    unfinished: BTreeMap<Version, Vec<u64>>,
    aborted: BTreeSet<Version>,
    watermark: Version,
    drops: u64,
}

/// Whether a condition holds of a key that has this version, where it has a value.
pub fn holds(condition: Condition, current: Option<Version>) -> bool {
    match condition {
        Condition::None => true,
        Condition::Absent => current.is_none(),
        Condition::Present => current.is_some(),
        Condition::Is(stamp) => current.map(|version| Stamp::new(version, ORIGIN)) == Some(stamp),
    }
}

impl State {
    /// One of which nothing is known but its watermark, and how often its keyspace was dropped and undropped.
    pub fn new(watermark: Version, drops: u64) -> State {
        State {
            watermark,
            drops,
            ..State::default()
        }
    }

    /// An intent that is stored.
    pub fn load_intent(&mut self, key: Bytes, intent: Intent) {
        let keys = self.keys_of.entry(intent.txn).or_default();
        keys.insert(key.clone());
        self.intents.insert(key, intent);
    }

    /// A record that is stored.
    pub fn load_record(&mut self, txn: Version, record: Record) {
        match record {
            Record::Aborted => drop(self.aborted.insert(txn)),
            Record::Committed { participants } if participants.is_empty() => {}
            Record::Committed { participants } => {
                self.unfinished.insert(txn, participants);
            }
        }
    }

    /// Nothing at or below this happens any more.
    pub fn watermark(&self) -> Version {
        self.watermark
    }

    /// How often its keyspace was dropped and undropped, by its log.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Whether its keyspace is dropped, by its log.
    pub fn is_dropped(&self) -> bool {
        self.drops % 2 == 1
    }

    /// Whether its keyspace is dropped, and no other range will ever need the outcome of a transaction here.
    pub fn is_ended(&self) -> bool {
        self.is_dropped() && self.unfinished.is_empty()
    }

    /// All intents, by key.
    pub fn intents(&self) -> impl Iterator<Item = (&Bytes, &Intent)> {
        self.intents.iter()
    }

    /// Transactions that committed here, of which other ranges may not know, with these.
    pub fn unfinished(&self) -> impl Iterator<Item = (Version, &[u64])> {
        let all = self.unfinished.iter();
        all.map(|(txn, participants)| (*txn, participants.as_slice()))
    }

    /// What a read at a timestamp must know of first: an intent that is not above it.
    pub fn met_by_read(&self, at: Version, start: &Bytes, end: Option<&Bytes>) -> Option<Blocker> {
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        if matches!(end, Bound::Excluded(end) if end <= start) {
            return None;
        }
        let mut within = (self.intents).range::<Bytes, _>((Bound::Included(start), end));
        let found = within.find(|(_, intent)| intent.txn < at);
        found.map(|(key, intent)| Blocker::by(key, intent))
    }

    /// Whether a key has an intent that is not above the timestamp of a read.
    pub fn blocks_read(&self, at: Version, key: &Bytes) -> bool {
        let intent = self.intents.get(key);
        intent.is_some_and(|intent| intent.txn < at)
    }

    /// Whether this transaction has intents here.
    pub fn has_intents_of(&self, txn: Version) -> bool {
        self.keys_of.contains_key(&txn)
    }

    /// Whether a transaction has committed, as far as memory tells: not of those that all participants know of.
    pub fn decided(&self, txn: Version) -> Option<bool> {
        if self.aborted.contains(&txn) {
            return Some(false);
        }
        self.unfinished.contains_key(&txn).then_some(true)
    }

    /// Whether a transaction has committed, as far as its record says.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn outcome<R: Rows>(&self, rows: &mut R, txn: Version) -> Result<Option<bool>, R::Error> {
        match self.decided(txn) {
            Some(is_committed) => Ok(Some(is_committed)),
            None => Ok(rows.record(txn)?.map(|record| record.is_committed())),
        }
    }

    /// Applies an entry.
    ///
    /// # Errors
    /// When rows cannot be read; nothing more must be applied then.
    pub fn apply<R: Rows>(&mut self, rows: &mut R, command: &Command) -> Judged<R::Error> {
        match command {
            Command::Write {
                at,
                condition,
                write,
            } => self.write(rows, *at, *condition, write),
            Command::Commit {
                txn,
                participants,
                checks,
                writes,
                id,
            } => self.commit(rows, *txn, participants, (checks, writes), id.as_ref()),
            Command::Reserve { id } => self.reserve(rows, id),
            Command::Close { id, refusal } => self.close(rows, id, *refusal),
            Command::Place {
                txn,
                holder,
                checks,
                writes,
            } => self.place(rows, *txn, *holder, (checks, writes)),
            Command::Finalize { txn, is_committed } => {
                self.finalize(rows, *txn, *is_committed);
                Ok(Verdict::Done)
            }
            Command::Abort { txn } => self.abort(rows, *txn),
            Command::Finished { txns } => {
                for txn in txns {
                    if self.unfinished.remove(txn).is_some() {
                        let participants = Vec::new();
                        rows.put_record(*txn, &Record::Committed { participants });
                    }
                }
                Ok(Verdict::Done)
            }
            Command::Watermark { to } => {
                self.raise(rows, *to);
                Ok(Verdict::Done)
            }
            Command::Dropped { count } => {
                self.drops = self.drops.max(*count);
                Ok(Verdict::Done)
            }
            // It says something to whoever leads later.
            Command::Lease { .. } => Ok(Verdict::Done),
        }
    }

    fn write<R: Rows>(
        &mut self,
        rows: &mut R,
        at: Version,
        condition: Condition,
        write: &Write,
    ) -> Judged<R::Error> {
        if self.is_dropped() {
            return Ok(Verdict::Aborted);
        }
        if let Some(blocker) = self.in_the_way(at, &write.key) {
            return Ok(Verdict::Blocked(blocker));
        }
        if condition != Condition::None {
            match self.current(rows, at, &write.key)? {
                Err(blocker) => return Ok(Verdict::Blocked(blocker)),
                Ok(current) if !holds(condition, current) => {
                    return Ok(Verdict::ConditionFailed(current));
                }
                Ok(_) => {}
            }
        }
        rows.put_version(&write.key, at, write.value.as_ref());
        Ok(Verdict::Done)
    }

    fn commit<R: Rows>(
        &mut self,
        rows: &mut R,
        txn: Version,
        participants: &[u64],
        (checks, writes): (&[Check], &[Write]),
        id: Option<&Id>,
    ) -> Judged<R::Error> {
        // A message that came twice, or somebody who was faster. Aborts are in memory; and a commit has written its keys, so
        // its repeat is refused there, and only then its record is read.
        let known = match self.decided(txn) {
            None if writes.is_empty() || txn <= self.watermark || self.is_dropped() => {
                self.outcome(rows, txn)?
            }
            known => known,
        };
        match known {
            Some(true) => return Ok(Verdict::Committed),
            Some(false) => return Ok(Verdict::Aborted),
            None if txn <= self.watermark => return Ok(Verdict::Forgotten),
            // It stays aborted when the keyspace is back: its client hears so.
            None if self.is_dropped() => return self.abort(rows, txn),
            None => {}
        }
        let refused = match id {
            Some(id) => self.decided_by_name(rows, id)?,
            None => None,
        };
        let refused = match refused {
            // The leader lets no key be written below a later read or write, so one written key is searched for: a repeat
            // finds its own version there.
            None => self.refused(rows, txn, checks, (writes, 1))?,
            refused => refused,
        };
        if let Some(refused) = refused {
            return Ok(match self.outcome(rows, txn)? {
                Some(true) => Verdict::Committed,
                _ => refused,
            });
        }
        for write in writes {
            rows.put_version(&write.key, txn, write.value.as_ref());
        }
        let participants = participants.to_vec();
        if !participants.is_empty() {
            self.unfinished.insert(txn, participants.clone());
        }
        rows.put_record(txn, &Record::Committed { participants });
        if let Some(id) = id {
            put_outcome(rows, id, Some(NameOutcome::Committed(txn)));
        }
        Ok(Verdict::Committed)
    }

    /// What keeps an attempt from having an effect, by what its client calls it.
    fn decided_by_name<R: Rows>(&self, rows: &mut R, id: &Id) -> Result<Option<Verdict>, R::Error> {
        if id.ms <= self.watermark.millis() {
            return Ok(Some(Verdict::Forgotten));
        }
        Ok(rows.id(id)?.and_then(|known| known.decision(id)))
    }

    fn close<R: Rows>(&mut self, rows: &mut R, id: &Id, refusal: Refusal) -> Judged<R::Error> {
        match self.decided_by_name(rows, id)? {
            Some(decided) => Ok(decided),
            None => {
                put_outcome(rows, id, Some(NameOutcome::Refused(refusal)));
                Ok(Verdict::Done)
            }
        }
    }

    fn reserve<R: Rows>(&mut self, rows: &mut R, id: &Id) -> Judged<R::Error> {
        match self.decided_by_name(rows, id)? {
            Some(Verdict::NameTaken) => Ok(Verdict::NameTaken),
            Some(Verdict::Forgotten) => Ok(Verdict::Forgotten),
            // Its outcome stands where its attempts commit: here, by chance.
            Some(_) => Ok(Verdict::Done),
            None => {
                put_outcome(rows, id, None);
                Ok(Verdict::Done)
            }
        }
    }

    fn place<R: Rows>(
        &mut self,
        rows: &mut R,
        txn: Version,
        holder: u64,
        (checks, writes): (&[Check], &[Write]),
    ) -> Judged<R::Error> {
        if self.is_dropped() {
            return Ok(Verdict::Aborted);
        }
        if let Some(refused) = self.refused(rows, txn, checks, (writes, writes.len()))? {
            return Ok(refused);
        }
        for write in writes {
            let intent = Intent {
                txn,
                holder,
                value: write.value.clone(),
            };
            rows.put_intent(&write.key, &intent);
            self.load_intent(write.key.clone(), intent);
        }
        Ok(Verdict::Done)
    }

    fn finalize<R: Rows>(&mut self, rows: &mut R, txn: Version, is_committed: bool) {
        for key in self.keys_of.remove(&txn).unwrap_or_default() {
            let Some(intent) = self.intents.remove(&key) else {
                continue;
            };
            rows.remove_intent(&key);
            if is_committed {
                rows.put_version(&key, txn, intent.value.as_ref());
            }
        }
    }

    fn abort<R: Rows>(&mut self, rows: &mut R, txn: Version) -> Judged<R::Error> {
        Ok(match self.outcome(rows, txn)? {
            Some(true) => Verdict::Committed,
            Some(false) => Verdict::Aborted,
            None if txn <= self.watermark => Verdict::Forgotten,
            None => {
                self.aborted.insert(txn);
                rows.put_record(txn, &Record::Aborted);
                Verdict::Aborted
            }
        })
    }

    fn raise<R: Rows>(&mut self, rows: &mut R, to: Version) {
        if to <= self.watermark {
            return;
        }
        self.watermark = to;
        rows.remove_records(to);
        self.aborted = self.aborted.split_off(&Version(to.0.saturating_add(1)));
        for (txn, participants) in self.unfinished.range(..=to) {
            let participants = participants.clone();
            rows.put_record(*txn, &Record::Committed { participants });
        }
    }

    /// An intent of another transaction, or the watermark.
    pub(crate) fn in_the_way(&self, txn: Version, key: &Bytes) -> Option<Blocker> {
        if txn <= self.watermark {
            return Some(Blocker::Old(self.watermark));
        }
        let intent = self.intents.get(key).filter(|intent| intent.txn != txn);
        intent.map(|intent| Blocker::by(key, intent))
    }

    /// The version of a key's value that a transaction sees, unless something is in its way.
    fn current<R: Rows>(
        &self,
        rows: &mut R,
        txn: Version,
        key: &Bytes,
    ) -> Result<Result<Option<Version>, Blocker>, R::Error> {
        if let Some(blocker) = self.in_the_way(txn, key) {
            return Ok(Err(blocker));
        }
        Ok(match rows.newest(key)? {
            Some((at, _)) if at >= txn => Err(Blocker::Newer {
                key: key.clone(),
                at,
            }),
            newest => Ok(newest.and_then(|(version, is_value)| is_value.then_some(version))),
        })
    }

    /// Why a transaction cannot check and write this. So many of the written keys are searched for newer versions.
    fn refused<R: Rows>(
        &self,
        rows: &mut R,
        txn: Version,
        checks: &[Check],
        (writes, searched): (&[Write], usize),
    ) -> Result<Option<Verdict>, R::Error> {
        for (number, write) in writes.iter().enumerate() {
            let blocker = if number < searched {
                self.current(rows, txn, &write.key)?.err()
            } else {
                self.in_the_way(txn, &write.key)
            };
            if let Some(blocker) = blocker {
                return Ok(Some(Verdict::Blocked(blocker)));
            }
        }
        for (number, check) in (0..).zip(checks) {
            match self.current(rows, txn, &check.key)? {
                Err(blocker) => return Ok(Some(Verdict::Blocked(blocker))),
                Ok(current) if !holds(check.condition, current) => {
                    return Ok(Some(Verdict::CheckFailed(number, current)));
                }
                Ok(_) => {}
            }
        }
        Ok(None)
    }
}

impl IdRecord {
    /// The end of an attempt under a name with this record; none while the name has no outcome.
    pub(crate) fn decision(&self, id: &Id) -> Option<Verdict> {
        match self.outcome {
            _ if self.body != id.body => Some(Verdict::NameTaken),
            Some(NameOutcome::Committed(at)) => Some(Verdict::CommittedBefore(at)),
            Some(NameOutcome::Refused(refusal)) => Some(Verdict::RefusedBefore(refusal)),
            None => None,
        }
    }
}

fn put_outcome<R: Rows>(rows: &mut R, id: &Id, outcome: Option<NameOutcome>) {
    let body = id.body;
    rows.put_id(id, &IdRecord { body, outcome });
}

impl Blocker {
    /// An intent in the way.
    pub(crate) fn by(key: &Bytes, intent: &Intent) -> Blocker {
        Blocker::Intent {
            key: key.clone(),
            txn: intent.txn,
            holder: intent.holder,
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
