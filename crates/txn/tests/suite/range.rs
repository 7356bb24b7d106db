//! A range in memory: one copy of what is applied, a leader that comes and goes, and entries that a lost leader leaves
//! behind, of which some are applied and some are not.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_txn::{
    Answer, Command, Id, IdRecord, Intent, Leader, Newest, Record, Replica, Row, Rows, Span, State,
    Verdict,
};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

use crate::bugs::Bug;
use crate::model::Model;

/// Rows in memory.
#[derive(Default, Clone)]
pub struct Memory {
    versions: BTreeMap<Bytes, BTreeMap<Version, Option<Bytes>>>,
    records: BTreeMap<Version, Record>,
    ids: BTreeMap<Bytes, IdRecord>,
}

impl Rows for Memory {
    type Error = Infallible;

    fn newest(&mut self, key: &Bytes) -> Result<Option<(Version, bool)>, Infallible> {
        let versions = self.versions.get(key);
        let last = versions.and_then(|versions| versions.last_key_value());
        Ok(last.map(|(version, value)| (*version, value.is_some())))
    }

    fn record(&mut self, txn: Version) -> Result<Option<Record>, Infallible> {
        Ok(self.records.get(&txn).cloned())
    }

    fn id(&mut self, id: &Id) -> Result<Option<IdRecord>, Infallible> {
        Ok(self.ids.get(&id.name).copied())
    }

    fn put_id(&mut self, id: &Id, record: &IdRecord) {
        self.ids.insert(id.name.clone(), *record);
    }

    fn put_version(&mut self, key: &Bytes, version: Version, value: Option<&Bytes>) {
        let versions = self.versions.entry(key.clone()).or_default();
        versions.insert(version, value.cloned());
    }

    fn put_intent(&mut self, _: &Bytes, _: &Intent) {}

    fn remove_intent(&mut self, _: &Bytes) {}

    fn put_record(&mut self, txn: Version, record: &Record) {
        self.records.insert(txn, record.clone());
    }

    fn remove_records(&mut self, up_to: Version) {
        self.records.retain(|txn, _| *txn > up_to);
    }
}

/// Term and index of an entry, and where its outcome comes.
type Proposed = (u64, u64, oneshot::Receiver<Result<Verdict, Answer>>);

type Waiter = oneshot::Sender<Result<Verdict, Answer>>;

/// One range.
pub struct Range {
    pub id: u64,
    pub model: Rc<Model>,
    pub state: RefCell<State>,
    rows: RefCell<Memory>,
    leader: RefCell<Option<Leader>>,
    term: Cell<u64>,
    last: Cell<u64>,
    applied: Cell<u64>,
    pending: RefCell<VecDeque<(u64, Command, Waiter)>>,
    changed: Notify,
    /// The greatest timestamp that entries had.
    until: Cell<Version>,
    /// The replica that led before, and does not know yet that it does not.
    pub former: RefCell<Option<Rc<Range>>>,
    is_former: bool,
    /// How often its keyspace was dropped and undropped, by the metadata.
    pub drops: Cell<u64>,
    /// Its keyspace's data is gone.
    pub is_purged: Cell<bool>,
    has_ended: Cell<bool>,
    /// When an entry was refused last, but for one that relied on another.
    refused_at: Cell<u64>,
}

impl Range {
    pub fn new(model: &Rc<Model>, id: u64) -> Range {
        Range {
            id,
            model: model.clone(),
            state: RefCell::default(),
            rows: RefCell::default(),
            leader: RefCell::new(Some(Leader::new(Version(0), 1))),
            term: Cell::new(1),
            last: Cell::new(0),
            applied: Cell::new(0),
            pending: RefCell::default(),
            changed: Notify::new(),
            until: Cell::new(Version(0)),
            former: RefCell::default(),
            is_former: false,
            drops: Cell::new(0),
            is_purged: Cell::new(false),
            has_ended: Cell::new(false),
            refused_at: Cell::new(0),
        }
    }

    /// The replica that leads, as it goes on when others have chosen another.
    fn left_behind(&self) -> Rc<Range> {
        Rc::new(Range {
            id: self.id,
            model: self.model.clone(),
            state: self.state.clone(),
            rows: self.rows.clone(),
            leader: self.leader.clone(),
            term: self.term.clone(),
            last: self.last.clone(),
            applied: self.applied.clone(),
            pending: RefCell::default(),
            changed: Notify::new(),
            until: self.until.clone(),
            former: RefCell::default(),
            is_former: true,
            drops: self.drops.clone(),
            is_purged: self.is_purged.clone(),
            has_ended: self.has_ended.clone(),
            refused_at: self.refused_at.clone(),
        })
    }

    /// It finds out.
    fn steps_down(&self) {
        self.leader.take();
        self.changed.notify_waiters();
    }

    /// The leader is lost; some of what it proposed is applied all the same. Then another leads.
    pub async fn change_leader(self: Rc<Self>) {
        if self.leader.borrow().is_none() {
            return;
        }
        let former = self.model.one_in(2).then(|| self.left_behind());
        if let Some(older) = self.former.replace(former) {
            older.steps_down();
        }
        self.leader.take();
        self.term.set(self.term.get() + 1);
        let left: Vec<_> = self.pending.borrow_mut().drain(..).collect();
        let kept = self.model.below(left.len() as u64 + 1) as usize;
        for (number, (_, command, waiter)) in left.into_iter().enumerate() {
            if number < kept {
                self.apply(&command);
            }
            drop(waiter.send(Err(Answer::Unknown)));
        }
        self.applied.set(self.last.get());
        self.changed.notify_waiters();
        sleep(self.model.ms(1, 60)).await;
        let floor = match self.model.bug {
            Bug::EmptyCache => Version(0),
            Bug::BelowLease => self.model.timestamp_now(Version(0)),
            _ => self.model.timestamp_now(self.until.get()),
        };
        *self.leader.borrow_mut() = Some(Leader::new(floor, 1));
    }

    /// Whether its log says that its keyspace may be purged.
    pub fn is_ended(&self) -> bool {
        let state = self.state.borrow();
        match self.model.bug {
            Bug::LateCommit => self.has_ended.get(),
            Bug::ForgottenWithKeyspace => state.is_dropped(),
            _ => state.is_ended(),
        }
    }

    /// A key that has a version above one timestamp and up to another.
    pub fn changed(&self, since: Version, at: Version, spans: &[Span]) -> Option<Bytes> {
        let rows = self.rows.borrow();
        let is_in = |key: &&Bytes| {
            let within =
                |(start, end): &Span| start <= *key && end.as_ref().is_none_or(|end| *key < end);
            spans.iter().any(within)
        };
        let is_new = |key: &&Bytes| {
            let mut versions = rows.versions[*key].keys();
            versions.any(|version| *version > since && *version <= at)
        };
        rows.versions.keys().filter(is_in).find(is_new).cloned()
    }

    fn apply(&self, command: &Command) -> Verdict {
        let (mut state, mut rows) = (self.state.borrow_mut(), self.rows.borrow_mut());
        if let (Bug::LateCommit, Command::Dropped { count }) = (self.model.bug, command) {
            let is_over = state.unfinished().count() == 0;
            self.has_ended.set(count % 2 == 1 && is_over);
            return Verdict::Done;
        }
        let verdict = state.apply(&mut *rows, command).unwrap();
        let at = match command {
            Command::Lease { until } => *until,
            _ => command.at_keys().map_or(Version(0), |(at, _, _)| at),
        };
        self.until.set(self.until.get().max(at));
        if let (Bug::ForgottenEarly, Command::Finished { txns }) = (self.model.bug, command) {
            rows.records.retain(|txn, _| !txns.contains(txn));
        }
        verdict
    }

    fn commit_up_to(&self, term: u64, index: u64) {
        if self.term.get() != term {
            return;
        }
        loop {
            let next = {
                let mut pending = self.pending.borrow_mut();
                let is_due = pending.front().is_some_and(|(first, _, _)| *first <= index);
                if is_due { pending.pop_front() } else { None }
            };
            let Some((at, command, waiter)) = next else {
                break;
            };
            let verdict = self.apply(&command);
            self.applied.set(at);
            if let Some(leader) = &mut *self.leader.borrow_mut() {
                if self.model.bug != Bug::ExpectedAfterRefusal {
                    leader.ended(&command, &verdict);
                }
                if !matches!(
                    verdict,
                    Verdict::Committed | Verdict::Done | Verdict::CheckFailed(..)
                ) {
                    self.refused_at.set(self.model.moment());
                }
                leader.applied(at);
            }
            drop(waiter.send(Ok(verdict)));
        }
        self.changed.notify_waiters();
    }

    /// No majority takes what a former leader proposes.
    async fn refused(&self) -> Result<Verdict, Answer> {
        sleep(self.model.ms(0, 20)).await;
        Err(Answer::NotLeader(None))
    }

    /// Puts an entry into the log, if the leader may: its term and index, and where its outcome comes.
    fn propose(
        &self,
        command: Command,
        note: impl FnOnce(&mut Leader, &Command, u64),
    ) -> Result<Proposed, Verdict> {
        let mut leader = self.leader.borrow_mut();
        let leader = leader.as_mut().unwrap();
        if self.model.bug != Bug::NoCache
            && let Err(refused) = leader.may_propose(&command)
        {
            return Err(Verdict::Blocked(refused));
        }
        let (waiter, outcome) = oneshot::channel();
        let index = self.last.get() + 1;
        self.last.set(index);
        note(leader, &command, index);
        if leader.end_lock(&command, self.model.now_ms()).is_some() {
            self.changed.notify_waiters();
        }
        let mut pending = self.pending.borrow_mut();
        pending.push_back((index, command, waiter));
        Ok((self.term.get(), index, outcome))
    }

    async fn outcome_of(
        self: &Rc<Range>,
        proposed: Result<Proposed, Verdict>,
    ) -> Result<Verdict, Answer> {
        let (term, index, outcome) = match proposed {
            Ok(proposed) => proposed,
            Err(refused) => return Ok(refused),
        };
        let (after, committed) = (self.model.ms(0, 4), self.clone());
        tokio::task::spawn_local(async move {
            sleep(after).await;
            committed.commit_up_to(term, index);
        });
        outcome.await.unwrap_or(Err(Answer::Unknown))
    }

    fn leads(&self) -> Result<u64, Answer> {
        if self.leader.borrow().is_some() {
            Ok(self.term.get())
        } else {
            Err(Answer::NotLeader(None))
        }
    }
}

/// The same for the code that serves.
pub struct Here(pub Rc<Range>);

impl Replica for Here {
    fn range(&self) -> u64 {
        self.0.id
    }

    fn until(&self) -> Version {
        match self.0.model.bug {
            Bug::PastLease if self.0.is_former => Version::MAX,
            _ => self.0.until.get(),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&State, &mut Leader) -> T) -> Result<T, Answer> {
        let state = self.0.state.borrow();
        match &mut *self.0.leader.borrow_mut() {
            Some(leader) => Ok(look(&state, leader)),
            None => Err(Answer::NotLeader(None)),
        }
    }

    async fn propose(&self, command: Command) -> Result<Verdict, Answer> {
        self.0.leads()?;
        if self.0.is_former {
            return self.0.refused().await;
        }
        let proposed = self.0.propose(command, Leader::proposed);
        self.0.outcome_of(proposed).await
    }

    async fn propose_made<T>(
        &self,
        make: impl FnOnce(&State, &Leader) -> Result<Result<Command, T>, Answer>,
    ) -> Result<Result<Verdict, T>, Answer> {
        let range = &self.0;
        let mut command = match self.with(|state, leader| make(state, leader))?? {
            Ok(command) => command,
            Err(stop) => return Ok(Err(stop)),
        };
        if range.is_former {
            return range.refused().await.map(Ok);
        }
        if let (Bug::ChecksLeftOut, Command::Commit { checks, .. }) =
            (range.model.bug, &mut command)
        {
            checks.clear();
        }
        let proposed = range.propose(command, Leader::proposed_expected);
        if range.model.bug == Bug::AnsweredEarly && proposed.is_ok() {
            return Ok(Ok(Verdict::Committed));
        }
        let proposed_at = range.model.moment();
        let outcome = range.outcome_of(proposed).await?;
        let is_failed = matches!(outcome, Verdict::CheckFailed(..));
        if is_failed && proposed_at > range.refused_at.get() {
            let broken = "an update relied on an entry that was refused before";
            *range.model.broken.borrow_mut() = Some(broken.to_owned());
        }
        Ok(Ok(outcome))
    }

    fn newest(&self, key: &Bytes) -> Result<Newest, Answer> {
        if self.0.model.one_in(20) {
            return Ok(Newest::NotInMemory);
        }
        let rows = self.0.rows.borrow();
        let versions = rows.versions.get(key);
        let last = versions.and_then(|versions| versions.last_key_value());
        Ok(last.map_or(Newest::Absent, |(version, value)| {
            Newest::Version(*version, value.clone())
        }))
    }

    async fn woken(&self, _: u64) {
        self.0.changed.notified().await;
    }

    fn wake(&self, _: u64) {
        self.0.changed.notify_waiters();
    }

    fn scan_number(&self) -> u64 {
        self.0.model.scan_number()
    }

    async fn applied(&self, index: u64) -> Result<(), Answer> {
        let term = self.0.leads()?;
        loop {
            let changed = self.0.changed.notified();
            if self.0.leads()? != term {
                return Err(Answer::NotLeader(None));
            }
            if self.0.applied.get() >= index {
                return Ok(());
            }
            changed.await;
        }
    }

    async fn outcome(&self, txn: Version) -> Result<Option<bool>, Answer> {
        let (state, mut rows) = (self.0.state.borrow(), self.0.rows.borrow_mut());
        Ok(state.outcome(&mut *rows, txn).unwrap())
    }

    async fn name(&self, id: &Id) -> Result<Option<IdRecord>, Answer> {
        let known = self.0.rows.borrow_mut().id(id).unwrap();
        Ok(known)
    }

    async fn get(
        &self,
        at: Version,
        keys: Vec<Bytes>,
    ) -> Result<Vec<Option<(Version, Bytes)>>, Answer> {
        sleep(self.0.model.ms(0, 2)).await;
        let rows = self.0.rows.borrow();
        let get = |key: &Bytes| {
            let (version, value) = rows.versions.get(key)?.range(..=at).next_back()?;
            Some((*version, value.clone()?))
        };
        Ok(keys.iter().map(get).collect())
    }

    async fn changed(
        &self,
        since: Version,
        at: Version,
        spans: Vec<Span>,
    ) -> Result<Option<Bytes>, Answer> {
        sleep(self.0.model.ms(0, 2)).await;
        Ok(self.0.changed(since, at, &spans))
    }

    async fn page(
        &self,
        at: Version,
        start: Bytes,
        end: Option<Bytes>,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<Bytes>), Answer> {
        let within = |key: &&Bytes| **key >= start && end.as_ref().is_none_or(|end| *key < end);
        let keys = self
            .0
            .rows
            .borrow()
            .versions
            .keys()
            .filter(within)
            .cloned()
            .collect::<Vec<_>>();
        let values = self.get(at, keys.clone()).await?;
        let next = keys.get(limit as usize).cloned();
        let keys = keys.into_iter().take(limit as usize);
        let rows = keys.zip(values);
        let rows =
            rows.filter_map(|(key, value)| value.map(|(version, value)| (key, version, value)));
        Ok((rows.collect(), next))
    }
}

/// Lets some time pass between what a leader does unasked.
pub async fn tend(range: Rc<Range>) {
    let mut seen = BTreeSet::new();
    loop {
        sleep(Duration::from_millis(100)).await;
        let (world, here) = (range.model.clone().world(), Here(range.clone()));
        let count = range.drops.get();
        if range.is_purged.get() {
            return;
        }
        if count != range.state.borrow().drops() {
            drop(here.propose(Command::Dropped { count }).await);
        }
        if range.model.bug != Bug::IntentsLeft {
            dunlin_txn::tend(&world, &here, &mut seen).await;
        }
        let to = world.model.watermark();
        drop(here.propose(Command::Watermark { to }).await);
    }
}
