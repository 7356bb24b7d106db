//! The end of a shard's log, read and judged once for all streams of a keyspace that have come so far, here. Who is
//! behind reads by himself until he meets it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_log::Index;
use dunlin_node::{Sabotage, Services};
use dunlin_proto::{ShardAddress, Token};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::assign::set_apart;
use crate::change::Change;
use crate::item::{Open, What};
use crate::joined::{Joined, Place};
use crate::ring::Ring;
use crate::source::{AVOID, Own};

/// A partition that got no further is left out for so long.
const LEFT_OUT: Duration = Duration::from_secs(30);

/// The tails that a shard reads, its own and those of others.
#[derive(Default)]
pub(crate) struct Tails {
    open: RefCell<BTreeMap<(ShardAddress, u32), Weak<Tail>>>,
    /// Where one has just broken off.
    avoid: RefCell<BTreeMap<(ShardAddress, u32), Instant>>,
    /// Partitions that got no further, and until when they are left out for that.
    standing: RefCell<BTreeMap<(ShardAddress, u32), BTreeMap<u16, Instant>>>,
}

/// The tail of one shard's log for one keyspace.
pub(crate) struct Tail {
    pub at: ShardAddress,
    /// Those that the shard holds, ascending.
    pub partitions: Vec<u16>,
    /// None before it has begun.
    pub ring: RefCell<Option<Ring>>,
    /// In which start of its node the log is read.
    incarnation: Cell<u32>,
    /// The last record of the log.
    pub end: Cell<Index>,
    /// Deletes up to this stamp may be forgotten at the shard.
    pub forgotten: Cell<Version>,
    pub is_over: Cell<bool>,
    pub changed: Notify,
    /// Who is in the ring, and where.
    pub places: RefCell<Vec<Weak<Place>>>,
    reading: RefCell<Option<JoinHandle<()>>>,
}

impl Drop for Tail {
    fn drop(&mut self) {
        if let Some(reading) = self.reading.get_mut() {
            reading.abort();
        }
    }
}

impl Tails {
    /// The tail of a shard's log, read from now on where it was not; `None` where it has just broken off.
    pub fn of(
        self: &Rc<Tails>,
        services: &Rc<Services>,
        at: ShardAddress,
        keyspace: u32,
    ) -> Option<Rc<Tail>> {
        let name = (at, keyspace);
        let mut open = self.open.borrow_mut();
        let now = Instant::now();
        self.avoid.borrow_mut().retain(|_, until| *until > now);
        if let Some(tail) = open.get(&name).and_then(Weak::upgrade)
            && !tail.is_over.get()
        {
            return Some(tail);
        }
        open.retain(|_, tail| tail.strong_count() > 0);
        if self.avoid.borrow().contains_key(&name) {
            return None;
        }
        let count = services.partition_count(keyspace)?;
        let is_there = |partition: &u16| {
            let is_held = services.replicas(keyspace, *partition).contains(&at);
            is_held && !self.is_standing(name, *partition)
        };
        let tail = Rc::new(Tail::new(at, (0..count).filter(is_there).collect()));
        let reading = read(self.clone(), services.clone(), Rc::downgrade(&tail), name);
        *tail.reading.borrow_mut() = Some(tokio::task::spawn_local(reading));
        open.insert(name, Rc::downgrade(&tail));
        Some(tail)
    }

    /// One partition gets no further: it is left out for a while, with those that cannot either.
    fn leave_out(&self, services: &Services, name: (ShardAddress, u32), all: &[u16], stands: u16) {
        let lacks = |partition| services.lacks_majority(name.1, partition);
        let (apart, _) = set_apart(all, stands, lacks);
        let until = Instant::now() + LEFT_OUT;
        let mut standing = self.standing.borrow_mut();
        let standing = standing.entry(name).or_default();
        standing.extend(apart.into_iter().map(|partition| (partition, until)));
    }

    fn is_standing(&self, name: (ShardAddress, u32), partition: u16) -> bool {
        let standing = self.standing.borrow();
        let until = standing.get(&name).and_then(|of| of.get(&partition));
        until.is_some_and(|until| *until > Instant::now())
    }

    /// Whether a tail lacks any of these partitions, and need not any more.
    pub fn is_left_out(&self, tail: &Tail, open: &Open) -> bool {
        let name = (tail.at, open.keyspace);
        let is_lacking = |p: &&u16| tail.partitions.binary_search(p).is_err();
        let mut lacking = open.partitions.iter().filter(is_lacking);
        lacking.any(|partition| !self.is_standing(name, *partition))
    }
}

/// Reads on for as long as anybody wants it.
async fn read(
    tails: Rc<Tails>,
    services: Rc<Services>,
    tail: Weak<Tail>,
    name: (ShardAddress, u32),
) {
    let Some(partitions) = tail.upgrade().map(|tail| tail.partitions.clone()) else {
        return;
    };
    let (at, keyspace) = name;
    let open = Open {
        keyspace,
        partitions,
        keys_only: false,
        prefix: Bytes::new(),
        from: None,
        until: None,
        is_tail: true,
        who: "streams that are at its end".to_owned(),
    };
    let broken = match Own::open(&services, at, open).await {
        Ok(mut own) => loop {
            let item = match own.next().await {
                Some(Ok(item)) => item,
                Some(Err(broken)) => break broken.to_string(),
                None => break "it has ended".to_owned(),
            };
            let Some(tail) = tail.upgrade() else { return };
            tail.end.set(item.end);
            tail.forgotten.set(item.forgotten);
            let changes = match item.what {
                What::Beat | What::PutBack => Vec::new(),
                What::Entries(changes) => changes,
                What::Records { .. } => break "stored records come".to_owned(),
                What::Stands(partition) => {
                    tails.leave_out(&services, name, &tail.partitions, partition);
                    break format!("partition {partition} gets no further");
                }
            };
            if !tail.take(&services, changes, item.token) {
                break "it does not say where it is".to_owned();
            }
        },
        Err(broken) => broken.to_string(),
    };
    tracing::debug!(%at, keyspace, broken, "the tail of a log is not read any more");
    tails
        .avoid
        .borrow_mut()
        .insert(name, Instant::now() + AVOID);
    if let Some(tail) = tail.upgrade() {
        tail.end();
    }
}

impl Tail {
    /// Of a shard's log, not read yet.
    pub fn new(at: ShardAddress, partitions: Vec<u16>) -> Tail {
        Tail {
            at,
            partitions,
            ring: RefCell::new(None),
            incarnation: Cell::new(0),
            end: Cell::new(0),
            forgotten: Cell::default(),
            is_over: Cell::new(false),
            changed: Notify::new(),
            places: RefCell::default(),
            reading: RefCell::default(),
        }
    }

    /// All who are there read by themselves again, and meet at another.
    pub fn end(&self) {
        self.is_over.set(true);
        self.changed.notify_waiters();
    }

    /// The log has been read up to where a token goes on.
    fn take(&self, services: &Services, changes: Vec<Rc<Change>>, token: Rc<Token>) -> bool {
        let Some(hint) = token.hint(self.at, &self.partitions) else {
            return false;
        };
        let mut ring = self.ring.borrow_mut();
        let ring = match &mut *ring {
            Some(ring) => ring,
            none => {
                self.incarnation.set(hint.incarnation);
                none.insert(Ring::new(hint.index, token.clone()))
            }
        };
        if hint.incarnation != self.incarnation.get() {
            return false;
        }
        let wakes = !changes.is_empty();
        if ring.push(hint.index, changes, token) {
            let mut places = self.places.borrow_mut();
            places.retain(|place| match place.upgrade() {
                Some(place) if ring.is_lost(place.next.get()) => {
                    if self.at == services.shard().address() {
                        place.keep(services);
                    }
                    false
                }
                Some(_) => true,
                None => false,
            });
        }
        if wakes {
            self.changed.notify_waiters();
        }
        true
    }

    /// Goes on here for who has come to where a token goes on.
    pub fn join(
        self: &Rc<Tail>,
        services: &Rc<Services>,
        open: &Open,
        token: &Rc<Token>,
    ) -> Option<Joined> {
        let is_here = |partition: &u16| self.partitions.binary_search(partition).is_ok();
        let hint = token.hint(self.at, &open.partitions)?;
        if self.is_over.get()
            || hint.incarnation != self.incarnation.get()
            || !open.partitions.iter().all(is_here)
        {
            return None;
        }
        let ring = self.ring.borrow();
        let ring = ring.as_ref()?;
        let mut next = ring.find(hint.index)?;
        if services.sabotage() == Sabotage::JoinAtEnd {
            next = ring.end();
        }
        let joined = Joined::new(self.clone(), open, token.clone(), next, hint.index);
        let mut places = self.places.borrow_mut();
        places.retain(|place| place.strong_count() > 0);
        places.push(Rc::downgrade(&joined.place));
        Some(joined)
    }
}
