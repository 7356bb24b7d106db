//! A request at the leader: what `dunlin_txn` needs of a replica to serve it.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::{Sabotage, Services};
use dunlin_proto::Condition;
use dunlin_txn::{
    Answer, Command, Full, Id, IdRecord, Leader, Newest, Replica, Request, Row, Span, State,
    Verdict, Write,
};
use dunlin_versions::{Found, Lookup, PageBounds, Store, StoreError, Tier};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::client::{Client, ends_others};
use crate::group::{Group, Lead, keyspace_of};
use crate::ranges::AtShard;

/// An answer with values holds about so many bytes: the client requests the rest again.
const READ_BYTES: usize = 1 << 20;
/// A page holds about so many bytes.
const PAGE_BYTES: usize = 256 << 10;
/// And no more keys than this.
const PAGE_KEYS: usize = 4_096;
/// A page of so many keys is read on the event loop, where memory has it.
const SMALL_PAGE: u32 = 256;
/// A waiter for a lock takes about so many bytes, beside the key.
const WAITER_BYTES: usize = 1 << 10;
/// Pause before it is tried again to propose, while proposals are held back.
const PAUSE: Duration = Duration::from_millis(1);
/// The key whose versions are the ends of windows.
const WINDOW: &[u8] = b"window";

/// A replica here.
pub(crate) struct Here {
    pub own: Rc<AtShard>,
    pub group: Rc<Group>,
}

impl AtShard {
    /// Answers a request, if this replica leads.
    pub async fn serve(self: &Rc<Self>, client: Client, range: u64, request: Request) -> Answer {
        let (Some(group), Ok(services)) = (self.group(range), client.services()) else {
            return Answer::NotLeader(None);
        };
        if services.is_dropped(keyspace_of(range)) && !ends_others(&request) {
            return Answer::NotLeader(None);
        }
        if let Some(why) = &*group.failed.borrow() {
            return Answer::Failed(why.clone());
        }
        let here = Here {
            own: self.clone(),
            group,
        };
        match request {
            Request::Leads if here.group.serves() => Answer::Done(Version(0)),
            Request::Leads => here.group.not_leader(),
            // Nothing is applied, not even a lease to read by.
            _ if self.health.is_store_full() && here.group.serves() => Answer::NoSpace,
            Request::Timestamps { count, above } => {
                let given = here.timestamps(&services, count, above).await;
                given.unwrap_or_else(|instead| instead)
            }
            // Who does not lead need not ask for a timestamp to find out.
            _ if !here.group.serves() => here.group.not_leader(),
            Request::Lock { ref key, .. } => {
                let mut waiting = services.memory();
                if waiting.grow(WAITER_BYTES + key.len()).is_err() {
                    return Answer::Busy;
                }
                dunlin_txn::serve(&client, &here, request).await
            }
            request => dunlin_txn::serve(&client, &here, request).await,
        }
    }
}

impl Group {
    /// Takes timestamps out of the window that a majority knows, if so many are left in it.
    fn take(
        &self,
        services: &Services,
        count: u32,
        above: Version,
    ) -> Result<Result<Version, Full>, Answer> {
        let now = services.stamp_clock().map_err(|_| Answer::Clock)?;
        match &mut *self.lead.borrow_mut() {
            Some((_, Lead::Timestamps(oracle))) => Ok(oracle.take(now, above, count)),
            _ => Err(self.not_leader()),
        }
    }

    /// A timestamp above this and all that were given before, where that is known at once: the replica that gives them
    /// is the only one, so no other can lead meanwhile.
    pub fn take_alone(&self, services: &Services, above: Version) -> Option<Version> {
        if !self.serves() || !self.others.is_alone() {
            return None;
        }
        self.take(services, 1, above).ok()?.ok()
    }
}

impl Here {
    /// Gives timestamps that nobody else is given, above all that were given before this was called.
    async fn timestamps(
        &self,
        services: &Services,
        count: u32,
        above: Version,
    ) -> Result<Answer, Answer> {
        if self.own.sabotage != Sabotage::TimestampUnconfirmed {
            self.confirm().await?;
        }
        loop {
            let full = match self.group.take(services, count, above)? {
                Ok(first) => return Ok(Answer::Timestamps(first)),
                Err(full) => full,
            };
            // Given out only once a majority knows where it ends.
            self.propose(Command::Write {
                at: full.next_end,
                condition: Condition::None,
                write: Write {
                    key: Bytes::from_static(WINDOW),
                    value: Some(Bytes::new()),
                },
            })
            .await?;
        }
    }

    /// Waits until it is certain that it led after this was called.
    async fn confirm(&self) -> Result<(), Answer> {
        let (waiter, reply) = oneshot::channel();
        let was_idle = self.group.is_idle();
        self.group.reads.borrow_mut().add(waiter);
        match self.reply(was_idle, reply).await {
            Ok(_) => Ok(()),
            Err(Answer::Unknown) => Err(Answer::NotLeader(None)),
            Err(instead) => Err(instead),
        }
    }

    async fn reply(
        &self,
        was_idle: bool,
        reply: oneshot::Receiver<Result<Verdict, Answer>>,
    ) -> Result<Verdict, Answer> {
        self.own.turn_now_if(was_idle, &self.group);
        reply.await.unwrap_or(Err(Answer::Unknown))
    }

    /// Reads what may have to wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Store, u32) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Answer> {
        let (place, store) = (self.group.meta.get().place, self.own.store.clone());
        let read = self.own.runner.run_read(move || job(&store, place)).await;
        if self.group.meta.get().place != place {
            // A snapshot has come meanwhile: another leads.
            return Err(Answer::NotLeader(None));
        }
        let failed = |error: &dyn std::fmt::Display| Answer::Failed(error.to_string());
        read.map_err(|gone| failed(&gone))?
            .map_err(|error| failed(&error))
    }
}

impl Replica for Here {
    fn range(&self) -> u64 {
        self.group.id
    }

    fn until(&self) -> Version {
        match self.own.sabotage {
            Sabotage::ReadPastLease => Version::MAX,
            _ => self.group.meta.get().greatest,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&State, &mut Leader) -> T) -> Result<T, Answer> {
        if !self.group.serves() {
            return Err(self.group.not_leader());
        }
        let state = self.group.state.borrow();
        match &mut *self.group.lead.borrow_mut() {
            Some((_, Lead::Keys(leader))) => Ok(look(&state, leader)),
            _ => Err(Answer::NotLeader(None)),
        }
    }

    async fn propose(&self, command: Command) -> Result<Verdict, Answer> {
        let (waiter, reply) = oneshot::channel();
        let (was_idle, proposal) = (self.group.is_idle(), (command, waiter));
        self.group.proposals.borrow_mut().push_back(proposal);
        self.reply(was_idle, reply).await
    }

    async fn propose_made<T>(
        &self,
        make: impl FnOnce(&State, &Leader) -> Result<Result<Command, T>, Answer>,
    ) -> Result<Result<Verdict, T>, Answer> {
        while self.group.serves() && !self.own.may_propose(&self.group) {
            if self.own.health.is_full() {
                return Err(Answer::NoSpace);
            }
            sleep(PAUSE).await;
        }
        let (waiter, reply) = oneshot::channel();
        let was_idle = self.group.is_idle();
        match self.own.propose_made(&self.group, make, waiter)? {
            Ok(()) => self.reply(was_idle, reply).await.map(Ok),
            Err(stop) => Ok(Err(stop)),
        }
    }

    fn newest(&self, key: &Bytes) -> Result<Newest, Answer> {
        let place = self.group.meta.get().place;
        match self
            .own
            .store
            .get(place, key, Version::MAX, Tier::CacheOnly)
        {
            Ok(Lookup::NeedsDisk) => Ok(Newest::NotInMemory),
            Ok(Lookup::Absent) => Ok(Newest::Absent),
            Ok(Lookup::Found(Found { version, value })) => Ok(Newest::Version(version, value)),
            Err(error) => Err(Answer::Failed(error.to_string())),
        }
    }

    async fn woken(&self, number: u64) {
        let (waiter, woken) = oneshot::channel();
        (self.group.tending.waiters.borrow_mut()).insert(number, waiter);
        // It ends, too, when another leads.
        drop(woken.await);
    }

    fn wake(&self, number: u64) {
        // The waiter wakes when its sender is gone.
        drop(self.group.tending.waiters.borrow_mut().remove(&number));
    }

    fn scan_number(&self) -> u64 {
        let number = self.own.scans.get();
        self.own.scans.set(number + 1);
        number
    }

    async fn applied(&self, index: u64) -> Result<(), Answer> {
        loop {
            let moved = self.group.moved.notified();
            if self.group.meta.get().applied >= index {
                return Ok(());
            }
            if !self.group.serves() {
                return Err(self.group.not_leader());
            }
            moved.await;
        }
    }

    async fn outcome(&self, txn: Version) -> Result<Option<bool>, Answer> {
        let decided = self.group.state.borrow().decided(txn);
        match decided {
            Some(is_committed) => Ok(Some(is_committed)),
            None => {
                self.read(move |store, place| store.is_committed(place, txn))
                    .await
            }
        }
    }

    async fn name(&self, id: &Id) -> Result<Option<IdRecord>, Answer> {
        let id = id.clone();
        self.read(move |store, place| store.name(place, &id)).await
    }

    async fn get(
        &self,
        at: Version,
        mut keys: Vec<Bytes>,
    ) -> Result<Vec<Option<(Version, Bytes)>>, Answer> {
        let place = self.group.meta.get().place;
        let mut values = Values::default();
        let mut needs_disk = false;
        let mut reader = self.own.store.reader(Tier::CacheOnly);
        for key in &keys {
            match reader.get(place, key, at) {
                Ok(Lookup::NeedsDisk) => needs_disk = true,
                Ok(lookup) => values.push(lookup),
                Err(error) => return Err(Answer::Failed(error.to_string())),
            }
            if needs_disk || values.are_full() {
                break;
            }
        }
        drop(reader);
        if needs_disk {
            let left = keys.split_off(values.read.len());
            let read = move |store: &Store, place| {
                store.get_each(place, &left, at, |lookup| {
                    values.push(lookup);
                    !values.are_full()
                })?;
                Ok(values)
            };
            values = self.read(read).await?;
        }
        Ok(values.read)
    }

    async fn changed(
        &self,
        since: Version,
        at: Version,
        spans: Vec<Span>,
    ) -> Result<Option<Bytes>, Answer> {
        let changed = self.read(move |store, place| {
            for (start, end) in &spans {
                let span = (&start[..], end.as_deref());
                if let Some(key) = store.changed(place, (since, at), span)? {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        });
        changed.await
    }

    async fn page(
        &self,
        at: Version,
        start: Bytes,
        end: Option<Bytes>,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<Bytes>), Answer> {
        let bounds = move |tier| PageBounds {
            bytes: PAGE_BYTES,
            count: PAGE_KEYS.min(limit as usize),
            tier,
        };
        if limit <= SMALL_PAGE {
            let place = self.group.meta.get().place;
            let span = (&start[..], end.as_deref());
            let page = (self.own.store).page(place, at, span, bounds(Tier::CacheOnly));
            if let Ok(Some(page)) = page {
                return Ok((page.items, page.next));
            }
        }
        let page = self.read(move |store, place| {
            let span = (&start[..], end.as_deref());
            store.page(place, at, span, bounds(Tier::Disk))
        });
        let page = page.await?.unwrap_or_default();
        Ok((page.items, page.next))
    }
}

/// Values of one answer.
#[derive(Default)]
struct Values {
    read: Vec<Option<(Version, Bytes)>>,
    bytes: usize,
}

impl Values {
    fn push(&mut self, lookup: Lookup) {
        let value = value_of(lookup);
        self.bytes += value.as_ref().map_or(0, |(_, value)| value.len());
        self.read.push(value);
    }

    fn are_full(&self) -> bool {
        self.bytes >= READ_BYTES
    }
}

fn value_of(lookup: Lookup) -> Option<(Version, Bytes)> {
    match lookup {
        Lookup::Found(Found {
            version,
            value: Some(value),
        }) => Some((version, value)),
        _ => None,
    }
}
