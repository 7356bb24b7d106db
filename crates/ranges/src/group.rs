//! One replica of a range: its raft node, and who waits for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use dunlin_entry::Version;
use dunlin_log::Index;
use dunlin_metadata::RangeReplica;
use dunlin_node::Sabotage;
use dunlin_proto::ShardAddress;
use dunlin_raftlog::{GroupLog, GroupStorage, Position, Record};
use dunlin_txn::{Answer, Command, Leader, Oracle, State, Verdict};
use dunlin_versions::Meta;
use raft::eraftpb::{Entry, Message};
use raft::{Config, RawNode, StateRole};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::descriptor::{Descriptor, FIRST};
use crate::hold::hold_from;
use crate::others::Others;
use crate::reads::Reads;

/// Ticks without a leader after which a replica stands for election, at least; at most twice as many.
const ELECTION_TICKS: usize = 10;
/// Ticks between heartbeats.
const HEARTBEAT_TICKS: usize = 2;
/// Bytes of entries in one message.
const MESSAGE_BYTES: u64 = 1 << 20;
/// Messages with entries under way to a replica.
const MESSAGES_MAX: usize = 256;
/// Bytes of entries that no majority has yet, above which nothing more is proposed.
const UNCOMMITTED_BYTES: u64 = 64 << 20;
/// Bytes of entries that are applied at once.
const COMMITTED_BYTES: u64 = 4 << 20;

/// Is told what became of an entry, or that it may read; or the answer to give instead.
pub(crate) type Waiter = oneshot::Sender<Result<Verdict, Answer>>;

/// What comes in for a replica.
pub(crate) enum Inbound {
    /// From another.
    Message(Box<Message>),
    /// Another cannot be reached.
    Unreachable(u64),
    /// A snapshot of its leader is in the store, behind this, with its descriptor.
    Installed(Box<Message>, Descriptor),
    /// This replica is to lead instead.
    HandOver(u64),
    /// None is to lead instead any more.
    KeepLead,
}

/// What is being made durable, in order.
pub(crate) struct Persisting {
    /// Not written yet, for the log took nothing.
    pub record: Option<Record>,
    /// Durable when the log has synced this.
    pub index: Index,
    /// Number of the `Ready`.
    pub number: u64,
    /// To be sent then.
    pub messages: Vec<Message>,
    /// A snapshot, which counts as applied then.
    pub snapshot: Option<u64>,
    /// Whether it says that a change of the replicas is committed: they are published when it is durable.
    pub has_change: bool,
}

/// What a leader remembers.
pub(crate) enum Lead {
    /// Of keys.
    Keys(Box<Leader>),
    /// Of timestamps.
    Timestamps(Oracle),
}

/// Figures.
#[derive(Default)]
pub(crate) struct Counters {
    pub elections: Cell<u64>,
    pub snapshots: Cell<u64>,
    /// Bytes of copies sent to others.
    pub copied_bytes: Cell<u64>,
    /// Times that another replica was to lead, and did.
    pub transfers: Cell<u64>,
    /// Times that it did not.
    pub failed_transfers: Cell<u64>,
}

/// A copy that is sent to another replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Requests for it that are served: a broken one may last beside the next.
    pub streams: u32,
    pub bytes: u64,
    /// Bytes of the whole, about.
    pub about_bytes: u64,
    pub bytes_per_s: u64,
}

/// The duties of a leader.
#[derive(Default)]
pub(crate) struct Tending {
    /// It is under way.
    pub is_tended: Cell<bool>,
    /// Transactions that other ranges did not know of when it last was.
    pub seen: RefCell<BTreeSet<Version>>,
    /// Up to where entries were applied when the watermark was last raised.
    pub raised_at: Cell<u64>,
    /// It is putting it into the log that the keyspace was dropped, or is back.
    pub is_noting_drop: Cell<bool>,
    /// Waiters for locks of keys, by number.
    pub waiters: RefCell<BTreeMap<u64, oneshot::Sender<()>>>,
}

/// A replica that speaks.
pub(crate) struct Group {
    pub id: u64,
    /// Whether it gives timestamps.
    pub is_oracle: bool,
    pub others: Others,
    pub storage: GroupStorage,
    pub meta: Cell<Meta>,
    pub node: RefCell<RawNode<GroupStorage>>,
    pub inbox: RefCell<VecDeque<Inbound>>,
    pub proposals: RefCell<VecDeque<(Command, Waiter)>>,
    /// Intents and records, as far as they are applied.
    pub state: RefCell<State>,
    /// What it must remember while it leads, and in which term.
    pub lead: RefCell<Option<(u64, Lead)>>,
    /// It is asking for the timestamp with which it begins to lead.
    pub is_taking_lead: Cell<bool>,
    /// Something was applied, or another leads.
    pub moved: Notify,
    pub tending: Tending,
    /// Committed entries that wait until the store takes writes.
    pub unapplied: RefCell<VecDeque<Entry>>,
    /// Who waits for an entry to be applied: by its index, with its term.
    pub pending: RefCell<BTreeMap<u64, (u64, Waiter)>>,
    pub reads: RefCell<Reads<Waiter>>,
    pub persisting: RefCell<VecDeque<Persisting>>,
    pub is_dirty: Cell<bool>,
    /// Why it has failed, if it has: it says nothing more.
    pub failed: RefCell<Option<String>>,
    /// A snapshot is being fetched.
    pub is_fetching: Cell<bool>,
    /// For how many ticks each replica has waited for a snapshot that nobody fetches.
    pub snapshot_ticks: RefCell<BTreeMap<u64, u32>>,
    /// Snapshots that others fetch here.
    pub serving: RefCell<BTreeMap<u64, Sent>>,
    pub counters: Counters,
    timeouts: Timeouts,
}

/// Election timeouts of a replica.
struct Timeouts {
    random: RefCell<StdRng>,
    /// The last that was drawn, and for which term and role.
    drawn: Cell<(u64, StateRole, usize)>,
}

/// Where a replica is.
pub(crate) fn address_of(replica: &RangeReplica) -> ShardAddress {
    ShardAddress {
        node: replica.node,
        shard: replica.shard,
    }
}

/// Up to where a store has applied a range's log.
pub(crate) fn applied(meta: &Meta) -> Position {
    Position {
        index: meta.applied,
        term: meta.term,
    }
}

/// The number of the replica that leads, as far as a node knows.
pub(crate) fn leader_of(node: &RawNode<GroupStorage>) -> Option<u64> {
    Some(node.raft.leader_id).filter(|leader| *leader != 0)
}

/// The number of a keyspace's range among all.
pub(crate) fn range_id(keyspace: u32, number: usize) -> u64 {
    u64::from(keyspace) << 16 | number as u64
}

/// The keyspace of a range.
pub(crate) fn keyspace_of(range: u64) -> u32 {
    (range >> 16) as u32
}

/// Its number in its keyspace.
pub(crate) fn number_of(range: u64) -> u16 {
    range as u16
}

/// A shard as one number, which is not 0: so answers name the leader.
pub(crate) fn number_at(at: ShardAddress) -> u64 {
    (u64::from(at.node) << 16 | u64::from(at.shard)) + 1
}

/// The same back.
pub(crate) fn at_number(number: u64) -> ShardAddress {
    let number = number.saturating_sub(1);
    ShardAddress {
        node: (number >> 16) as u16,
        shard: number as u16,
    }
}

impl Group {
    /// One whose log and store are as `start` found them.
    ///
    /// # Errors
    /// When raft refuses what it finds.
    pub fn new(
        (id, is_oracle): (u64, bool),
        descriptor: Option<Descriptor>,
        (meta, state): (Meta, State),
        log: Rc<RefCell<GroupLog>>,
        seed: u64,
        sabotage: Sabotage,
    ) -> Result<Group, raft::Error> {
        if sabotage == Sabotage::ForgetCommit {
            log.borrow_mut().forget_commit();
        }
        let configuration = descriptor.as_ref().map(Descriptor::conf_state);
        let storage = GroupStorage::new(log, configuration.unwrap_or_default(), applied(&meta));
        let config = Config {
            id: meta.own,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied: meta.applied,
            max_size_per_msg: MESSAGE_BYTES,
            max_inflight_msgs: MESSAGES_MAX,
            check_quorum: true,
            pre_vote: true,
            skip_bcast_commit: true,
            batch_append: true,
            max_uncommitted_size: UNCOMMITTED_BYTES,
            max_committed_size_per_ready: COMMITTED_BYTES,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, storage.clone(), &logger)?;
        let mut reads = Reads::default();
        reads.joins_older = sabotage == Sabotage::ReadJoinsOlderRound;
        let group = Group {
            id,
            is_oracle,
            others: Others::new(meta.own, descriptor),
            storage,
            meta: Cell::new(meta),
            node: RefCell::new(node),
            inbox: RefCell::default(),
            proposals: RefCell::default(),
            state: RefCell::new(state),
            lead: RefCell::default(),
            is_taking_lead: Cell::new(false),
            moved: Notify::new(),
            tending: Tending::default(),
            unapplied: RefCell::default(),
            pending: RefCell::default(),
            reads: RefCell::new(reads),
            persisting: RefCell::default(),
            is_dirty: Cell::new(false),
            failed: RefCell::default(),
            is_fetching: Cell::new(false),
            snapshot_ticks: RefCell::default(),
            serving: RefCell::default(),
            counters: Counters::default(),
            timeouts: Timeouts {
                random: RefCell::new(StdRng::seed_from_u64(seed ^ id)),
                drawn: Cell::new((u64::MAX, StateRole::Follower, ELECTION_TICKS)),
            },
        };
        group.draw(&mut group.node.borrow_mut());
        if group.is_first() {
            group.node.borrow_mut().campaign()?;
        }
        Ok(group)
    }

    /// Whether nobody else could lead, or nobody has yet and this is the one that does: it need not wait for its time.
    fn is_first(&self) -> bool {
        let descriptor = self.others.descriptor.borrow();
        let Some(descriptor) = descriptor.as_ref() else {
            return false;
        };
        let is_new = descriptor.config == 1 && self.node.borrow().raft.term == FIRST;
        // The first of the target was the first to be given a number.
        let first = descriptor.voters().next().map(|member| member.id);
        self.others.is_alone() || is_new && first == Some(self.others.own)
    }

    /// Has `raft` go by an election timeout of this replica's own random numbers, drawn for each term and role.
    pub fn draw(&self, node: &mut RawNode<GroupStorage>) {
        let now = (node.raft.term, node.raft.state);
        let (term, role, drawn) = self.timeouts.drawn.get();
        let ticks = if now == (term, role) && node.raft.election_elapsed > 0 {
            drawn
        } else {
            (self.timeouts.random.borrow_mut()).random_range(ELECTION_TICKS..2 * ELECTION_TICKS)
        };
        if now.1 == StateRole::Leader && now != (term, role) {
            self.counters
                .elections
                .set(self.counters.elections.get() + 1);
        }
        self.timeouts.drawn.set((now.0, now.1, ticks));
        node.raft.set_randomized_election_timeout(ticks);
    }

    /// Whether nothing is under way that somebody waits for.
    pub fn is_idle(&self) -> bool {
        !self.is_dirty.get()
            && self.pending.borrow().is_empty()
            && self.persisting.borrow().is_empty()
            && self.reads.borrow().is_empty()
    }

    /// Whether it leads and remembers what a leader must.
    pub fn serves(&self) -> bool {
        self.serves_with(&self.node.borrow())
    }

    /// The same, where its node is borrowed already.
    pub fn serves_with(&self, node: &RawNode<GroupStorage>) -> bool {
        let lead = self.lead.borrow();
        let term = lead.as_ref().map(|(term, _)| *term);
        node.raft.state == StateRole::Leader && term == Some(node.raft.term)
    }

    /// The term in which it leads and has applied an entry: it knows all that was ever acknowledged.
    pub fn leads_in(&self, node: &RawNode<GroupStorage>) -> Option<u64> {
        let leads = node.raft.state == StateRole::Leader
            && node.raft.commit_to_current_term()
            && self.meta.get().term == node.raft.term;
        leads.then_some(node.raft.term)
    }

    /// The answer of who does not lead.
    pub fn not_leader(&self) -> Answer {
        self.led_by(self.leader())
    }

    /// The answer of a replica that does not lead, where another does.
    pub fn led_by(&self, leader: Option<u64>) -> Answer {
        let leader = leader.filter(|leader| *leader != self.others.own);
        Answer::NotLeader(leader.and_then(|leader| self.at(leader)).map(number_at))
    }

    /// The number of the replica that leads, as far as is known here.
    pub fn leader(&self) -> Option<u64> {
        leader_of(&self.node.borrow())
    }

    /// Where a replica is.
    pub fn at(&self, id: u64) -> Option<ShardAddress> {
        self.others.find(id).map(|(at, _)| at)
    }

    /// The index behind which entries stay in memory for replicas that get a copy.
    pub fn hold_from(&self, node: &RawNode<GroupStorage>) -> Option<u64> {
        let mut copies = self.others.copies.borrow_mut();
        if node.raft.state != StateRole::Leader {
            copies.clear();
        }
        let matched = |id| node.raft.prs().get(id).map(|progress| progress.matched);
        let last = node.raft.raft_log.last_index();
        hold_from(&mut copies, Instant::now(), last, matched)
    }

    /// It says nothing more; who waits is told why.
    pub fn fail(&self, why: &str) {
        tracing::error!(range = self.id, why, "a replica of a range has failed");
        *self.failed.borrow_mut() = Some(why.to_owned());
        let failed = || Err(Answer::Failed(why.to_owned()));
        for waiter in self.reads.borrow_mut().drain() {
            drop(waiter.send(failed()));
        }
        for (_, waiter) in self.proposals.borrow_mut().drain(..) {
            drop(waiter.send(failed()));
        }
        self.forget_pending();
        self.lead.take();
        self.moved.notify_waiters();
        self.inbox.borrow_mut().clear();
        self.persisting.borrow_mut().clear();
        self.unapplied.borrow_mut().clear();
    }

    /// Who waits for entries is not told what became of them: it is not known here any more.
    pub fn forget_pending(&self) {
        for (_, (_, waiter)) in std::mem::take(&mut *self.pending.borrow_mut()) {
            drop(waiter.send(Err(Answer::Unknown)));
        }
    }
}
