//! A request at the leader of a range: the same steps whatever carries messages and keeps rows.

use bytes::Bytes;
use dunlin_entry::Version;

use crate::command::{Command, Id};
use crate::late::Wall;
use crate::leader::Leader;
use crate::record::IdRecord;
use crate::request::{Answer, Blocker, Request, Row, Span};
use crate::state::{State, Verdict};

/// How often a write of one key is tried anew, at another timestamp each time.
const ATTEMPTS_MAX: u32 = 64;
/// How often what is in a transaction's way is cleared before it is told so.
const CLEARED_MAX: u32 = 16;
/// First pause before another transaction is asked about again, and the longest, in milliseconds.
const PAUSE_MS: u64 = 1;
const PAUSE_MS_MAX: u64 = 32;
/// How long a leader leaves intents to the transaction that wrote them, in milliseconds: then anybody may abort it.
const INTENT_MS: u64 = 3_000;

/// A request that was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unheard {
    /// It did certainly not happen, and why.
    Not(String),
    /// It may have happened.
    Maybe,
}

/// All else that there is: other ranges, the oracle, time.
#[allow(async_fn_in_trait, reason = "never sent to another thread")]
pub trait World {
    /// Asks the leader of a range, whoever that is.
    async fn ask(&self, range: u64, request: Request) -> Result<Answer, Unheard>;

    /// A timestamp above this, and above all that were given before it is asked for; or the answer to give instead.
    async fn timestamp(&self, above: Version) -> Result<Version, Answer>;

    /// Lets time pass.
    async fn pause(&self, ms: u64);

    /// Milliseconds of this process alone, which never go back.
    fn elapsed_ms(&self) -> u64;

    /// Milliseconds that are left for the request which is carried out, and for all that it asks for.
    fn left_ms(&self) -> u64;

    /// The clock with which times of clients are compared.
    fn wall(&self) -> Wall;

    /// How long a leader leaves intents to the transaction that wrote them, in milliseconds.
    fn intent_ms(&self) -> u64 {
        INTENT_MS
    }
}

/// The newest version of a key that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Newest {
    /// Memory does not tell.
    NotInMemory,
    /// There is none.
    Absent,
    /// This one, with its value; none is a delete.
    Version(Version, Option<Bytes>),
}

/// A replica that leads, or the answer to give instead.
#[allow(async_fn_in_trait, reason = "never sent to another thread")]
pub trait Replica {
    /// Its range.
    fn range(&self) -> u64;

    /// Whoever leads later writes above this: the greatest timestamp that entries, leases among them, had.
    fn until(&self) -> Version;

    /// Looks at what is applied and what the leader remembers, if it leads.
    fn with<T>(&self, look: impl FnOnce(&State, &mut Leader) -> T) -> Result<T, Answer>;

    /// Puts an entry into the log, if the leader may, and waits until it is applied.
    async fn propose(&self, command: Command) -> Result<Verdict, Answer>;

    /// Makes an entry from the state and the leader's memory of this moment, puts it into the log, expects it to have its
    /// effect, and waits until it is applied.
    async fn propose_made<T>(
        &self,
        make: impl FnOnce(&State, &Leader) -> Result<Result<Command, T>, Answer>,
    ) -> Result<Result<Verdict, T>, Answer>;

    /// The newest version of a key that is applied.
    fn newest(&self, key: &Bytes) -> Result<Newest, Answer>;

    /// Waits until `wake` is called with this number, or it does not lead any more; perhaps less long.
    async fn woken(&self, number: u64);

    /// Wakes the waiter with this number, if there is one.
    fn wake(&self, number: u64);

    /// A number for a scan, which no other scan of this process has, whoever leads.
    fn scan_number(&self) -> u64;

    /// Waits until all entries up to this index are applied.
    async fn applied(&self, index: u64) -> Result<(), Answer>;

    /// What the records say of a transaction.
    async fn outcome(&self, txn: Version) -> Result<Option<bool>, Answer>;

    /// The record of a name.
    async fn name(&self, id: &Id) -> Result<Option<IdRecord>, Answer>;

    /// Values of the first keys at a timestamp: so many as fit into one answer, one at least.
    async fn get(
        &self,
        at: Version,
        keys: Vec<Bytes>,
    ) -> Result<Vec<Option<(Version, Bytes)>>, Answer>;

    /// A key within these that has a version above one timestamp and up to another.
    async fn changed(
        &self,
        since: Version,
        at: Version,
        spans: Vec<Span>,
    ) -> Result<Option<Bytes>, Answer>;

    /// Keys in order at a timestamp.
    async fn page(
        &self,
        at: Version,
        start: Bytes,
        end: Option<Bytes>,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<Bytes>), Answer>;
}

/// A timestamp above a version, for a write with a floor and a deadline.
///
/// # Errors
/// `TooLate` where there can be none, or the answer to give instead.
pub async fn timely<W: World>(
    world: &W,
    (above, floor): (Version, Version),
    deadline: Version,
) -> Result<Version, Answer> {
    loop {
        let at = world.timestamp(above).await?;
        let wall = world.wall();
        if wall.is_late(at, deadline) {
            return Err(Answer::TooLate(at));
        }
        match wall.wait_ms(at, floor) {
            0 => return Ok(at),
            _ if world.left_ms() == 0 => return Err(Answer::Busy),
            ms => world.pause(ms.min(world.left_ms())).await,
        }
    }
}

/// Answers a request. What concerns no keys is not for here.
pub async fn serve<W: World, R: Replica>(world: &W, replica: &R, request: Request) -> Answer {
    let here = Here { world, replica };
    let answered = match request {
        Request::Read { at, keys } => here.read(at, keys).await,
        Request::Page {
            at,
            start,
            end,
            limit,
        } => here.page(at, start, end, limit).await,
        Request::Write {
            deadline,
            floor,
            condition,
            write,
        } => {
            let command = |at| Command::Write {
                at,
                condition,
                write: write.clone(),
            };
            here.write(deadline, floor, command).await
        }
        Request::Update(update) => here.update(&update).await,
        Request::Enter(command) => here.enter(command).await,
        Request::Push { txn, aborts } => here.push(txn, aborts).await,
        Request::Unchanged { at, since, spans } => here.unchanged(at, since, spans).await,
        Request::Lock { key, floor, reads } => here.lock_and_read(&key, floor, reads).await,
        Request::Unlock { number } => here.unlock(number),
        Request::Name { id } => here.name(id).await,
        Request::Timestamps { .. } | Request::Leads => {
            Err(Answer::Failed("this is not for keys of a range".to_owned()))
        }
    };
    answered.unwrap_or_else(|instead| instead)
}

/// Pauses, each longer than the one before.
pub(crate) struct Waits {
    ms: u64,
}

impl Waits {
    pub fn new() -> Waits {
        Waits { ms: PAUSE_MS }
    }

    pub async fn pause<W: World>(&mut self, world: &W) {
        world.pause(self.ms).await;
        self.ms = (2 * self.ms).min(PAUSE_MS_MAX);
    }
}

pub(crate) struct Here<'a, W, R> {
    pub world: &'a W,
    pub replica: &'a R,
}

impl<W: World, R: Replica> Here<'_, W, R> {
    async fn read(&self, at: Option<Version>, keys: Vec<Bytes>) -> Result<Answer, Answer> {
        let at = self.at(at).await?;
        self.values(at, keys).await.map(Answer::Values)
    }

    /// Values of the first keys at a timestamp.
    pub(crate) async fn values(
        &self,
        at: Version,
        keys: Vec<Bytes>,
    ) -> Result<Vec<Option<(Version, Bytes)>>, Answer> {
        self.lease(at).await?;
        // From here to the end of this step nothing is waited for: who writes later meets the timestamp.
        let index = self.replica.with(|state, leader| {
            check_watermark(state, at)?;
            Ok(keys.iter().filter_map(|key| leader.read_key(at, key)).max())
        })??;
        if let Some(index) = index {
            self.replica.applied(index).await?;
        }
        let blocked = (self.replica).with(|state, _| {
            let is_blocked = |key: &&Bytes| state.blocks_read(at, key);
            keys.iter().filter(is_blocked).cloned().collect::<Vec<_>>()
        })?;
        for key in &blocked {
            let behind = Bytes::from([key, &[0][..]].concat());
            self.clear_for_read(at, key, Some(&behind)).await?;
        }
        self.replica.get(at, keys).await
    }

    async fn page(
        &self,
        at: Option<Version>,
        start: Bytes,
        end: Option<Bytes>,
        limit: u32,
    ) -> Result<Answer, Answer> {
        let at = self.at(at).await?;
        self.lease(at).await?;
        (self.replica).with(|state, _| check_watermark(state, at))??;
        let (mut scan, index) = self.scan(at, &start, end.as_ref())?;
        if let Some(index) = index {
            self.replica.applied(index).await?;
        }
        self.clear_for_read(at, &start, end.as_ref()).await?;
        let (rows, next) = self.replica.page(at, start, end, limit).await?;
        scan.next.clone_from(&next);
        Ok(Answer::Page(rows, next))
    }

    /// Begins a scan, and the index that must be applied before it reads.
    fn scan(
        &self,
        at: Version,
        start: &Bytes,
        end: Option<&Bytes>,
    ) -> Result<(Scan<'_, R>, Option<u64>), Answer> {
        let (replica, number) = (self.replica, self.replica.scan_number());
        let index = replica.with(|_, leader| leader.begin_scan(number, at, start, end))?;
        let next = None;
        Ok((
            Scan {
                replica,
                number,
                next,
            },
            index,
        ))
    }

    /// Reads keys at a timestamp as far as to say whether they are as they were at an earlier one.
    async fn unchanged(
        &self,
        at: Version,
        since: Version,
        spans: Vec<Span>,
    ) -> Result<Answer, Answer> {
        self.lease(at).await?;
        let (mut scans, mut last) = (Vec::with_capacity(spans.len()), None);
        for (start, end) in &spans {
            let (scan, index) = self.scan(at, start, end.as_ref())?;
            last = last.max(index);
            scans.push(scan);
        }
        if let Some(index) = last {
            self.replica.applied(index).await?;
        }
        for (start, end) in &spans {
            self.clear_for_read(at, start, end.as_ref()).await?;
        }
        let changed = self.replica.changed(since, at, spans).await?;
        // Older versions may have gone meanwhile.
        (self.replica).with(|state, _| check_watermark(state, since))??;
        Ok(changed.map_or(Answer::Done(at), Answer::Changed))
    }

    async fn at(&self, at: Option<Version>) -> Result<Version, Answer> {
        match at {
            Some(at) => Ok(at),
            None => self.world.timestamp(Version(0)).await,
        }
    }

    /// Waits until whoever leads later writes above a timestamp.
    async fn lease(&self, at: Version) -> Result<(), Answer> {
        let until = self.replica.until();
        let wanted = (self.replica).with(|_, leader| leader.lease(until, at))?;
        if let Some(until) = wanted {
            self.replica.propose(Command::Lease { until }).await?;
        }
        Ok(())
    }

    /// Waits until no intent below a timestamp is left.
    async fn clear_for_read(
        &self,
        at: Version,
        start: &Bytes,
        end: Option<&Bytes>,
    ) -> Result<(), Answer> {
        let mut waits = Waits::new();
        loop {
            let blocker = (self.replica).with(|state, _| state.met_by_read(at, start, end))?;
            let Some(blocker) = blocker else {
                return Ok(());
            };
            if self.clear(&blocker, at).await? {
                waits = Waits::new();
                continue;
            }
            if self.world.left_ms() == 0 {
                return Err(Answer::Busy);
            }
            waits.pause(self.world).await;
        }
    }

    /// Writes one key, at new timestamps until nothing is in the way.
    async fn write(
        &self,
        deadline: Version,
        floor: Version,
        command: impl Fn(Version) -> Command,
    ) -> Result<Answer, Answer> {
        let mut waits = Waits::new();
        for _ in 0..ATTEMPTS_MAX {
            if self.world.left_ms() == 0 {
                break;
            }
            let at = timely(self.world, (floor, floor), deadline).await?;
            match self.replica.propose(command(at)).await? {
                Verdict::ConditionFailed(version) => return Ok(Answer::ConditionFailed(version)),
                Verdict::Aborted => return Ok(Answer::Aborted),
                Verdict::Blocked(blocker) => {
                    if !self.clear(&blocker, at).await? {
                        waits.pause(self.world).await;
                    }
                }
                _ => return Ok(Answer::Done(at)),
            }
        }
        Ok(Answer::Busy)
    }

    /// An entry of a transaction.
    async fn enter(&self, command: Command) -> Result<Answer, Answer> {
        match &command {
            Command::Commit { txn, .. } => self.commit(*txn, command).await,
            Command::Place { txn, .. } => self.settle(*txn, command).await,
            Command::Close { .. } | Command::Reserve { .. } => {
                self.settle(Version(0), command).await
            }
            Command::Finalize { txn, is_committed } => self.finalize(*txn, *is_committed).await,
            Command::Finished { .. } => {
                self.replica.propose(command).await?;
                Ok(Answer::Done(Version(0)))
            }
            _ => Err(Answer::Failed("this is not for others to enter".to_owned())),
        }
    }

    async fn commit(&self, txn: Version, command: Command) -> Result<Answer, Answer> {
        let answer = self.settle(txn, command).await?;
        if !matches!(answer, Answer::Blocked(_)) {
            return Ok(answer);
        }
        // Had the request come twice, the other one might commit after this one was refused.
        match self.push(txn, true).await? {
            Answer::Aborted => Ok(answer),
            told => Ok(told),
        }
    }

    /// Has a transaction's entry applied, when others' intents are out of its way.
    async fn settle(&self, txn: Version, command: Command) -> Result<Answer, Answer> {
        let mut cleared = 0;
        loop {
            let blocker = match self.replica.propose(command.clone()).await? {
                Verdict::Blocked(blocker) => blocker,
                outcome => return Ok(final_answer(outcome, txn)),
            };
            cleared += 1;
            let is_intent = matches!(blocker, Blocker::Intent { .. });
            if !is_intent || cleared > CLEARED_MAX || !self.clear(&blocker, txn).await? {
                return Ok(Answer::Blocked(blocker));
            }
        }
    }

    /// What became of a transaction whose record is here.
    async fn push(&self, txn: Version, aborts: bool) -> Result<Answer, Answer> {
        match self.replica.outcome(txn).await? {
            Some(true) => Ok(Answer::Committed),
            Some(false) => Ok(Answer::Aborted),
            None if !aborts => Ok(Answer::Undecided),
            // Told only once it is applied: before, another leader might still let it commit.
            None => Ok(match self.replica.propose(Command::Abort { txn }).await? {
                Verdict::Committed => Answer::Committed,
                Verdict::Forgotten => Answer::Forgotten,
                _ => Answer::Aborted,
            }),
        }
    }

    /// The outcome of a name. Another leader may give it one meanwhile: so none is not final.
    async fn name(&self, id: Id) -> Result<Answer, Answer> {
        let watermark = self.replica.with(|state, _| state.watermark())?;
        if id.ms <= watermark.millis() {
            return Ok(Answer::Forgotten);
        }
        let record = self.replica.name(&id).await?;
        Ok(match record.and_then(|record| record.decision(&id)) {
            Some(Verdict::CommittedBefore(at)) => Answer::CommittedBefore(at),
            Some(Verdict::RefusedBefore(refusal)) => Answer::RefusedBefore(refusal),
            Some(_) => Answer::NameTaken,
            None => Answer::Undecided,
        })
    }

    async fn finalize(&self, txn: Version, is_committed: bool) -> Result<Answer, Answer> {
        // Proposed even where no intent is seen: only what is applied is certain.
        let command = Command::Finalize { txn, is_committed };
        self.replica.propose(command).await?;
        Ok(Answer::Done(txn))
    }

    /// Clears what is in the way of who has this timestamp, if it can be; whether it is gone.
    pub(crate) async fn clear(&self, blocker: &Blocker, by: Version) -> Result<bool, Answer> {
        let Blocker::Intent { txn, holder, .. } = *blocker else {
            return Ok(true);
        };
        let now_ms = self.world.elapsed_ms();
        let seen_for_ms = (self.replica).with(|_, leader| leader.seen_for_ms(txn, now_ms))?;
        // The older wins: so two never wait for each other.
        let aborts = by < txn || seen_for_ms > self.world.intent_ms();
        let told = if holder == self.replica.range() {
            self.push(txn, aborts).await?
        } else {
            let asked = self.world.ask(holder, Request::Push { txn, aborts }).await;
            asked.unwrap_or(Answer::Undecided)
        };
        let is_committed = match told {
            Answer::Committed => true,
            // What has committed is remembered until its intents are gone.
            Answer::Aborted | Answer::Forgotten => false,
            _ => return Ok(false),
        };
        self.finalize(txn, is_committed).await?;
        Ok(true)
    }
}

/// A scan, which comes to an end however that is.
struct Scan<'a, R: Replica> {
    replica: &'a R,
    number: u64,
    next: Option<Bytes>,
}

impl<R: Replica> Drop for Scan<'_, R> {
    fn drop(&mut self) {
        let (number, next) = (self.number, self.next.as_ref());
        // A former leader has nothing to note.
        let end = |_: &State, leader: &mut Leader| leader.end_scan(number, next);
        drop(self.replica.with(end));
    }
}

/// The answer where nothing is in the way of a transaction's entry.
pub(crate) fn final_answer(outcome: Verdict, txn: Version) -> Answer {
    match outcome {
        Verdict::Done => Answer::Done(txn),
        Verdict::Committed => Answer::Committed,
        Verdict::Forgotten => Answer::Forgotten,
        Verdict::CommittedBefore(version) => Answer::CommittedBefore(version),
        Verdict::RefusedBefore(refusal) => Answer::RefusedBefore(refusal),
        Verdict::NameTaken => Answer::NameTaken,
        Verdict::CheckFailed(number, version) => Answer::CheckFailed(number, version),
        Verdict::Blocked(blocker) => Answer::Blocked(blocker),
        Verdict::Aborted | Verdict::ConditionFailed(_) => Answer::Aborted,
    }
}

fn check_watermark(state: &State, at: Version) -> Result<(), Answer> {
    if at > state.watermark() {
        Ok(())
    } else {
        Err(Answer::Blocked(Blocker::Old(state.watermark())))
    }
}
