//! What a seed decides before anything runs: the cluster, its keyspaces and settings, the mix of faults.

use std::time::Duration;

use dunlin_metadata::{KeyspaceSettings, Sync};
use dunlin_node::{CopySteps, Sabotage};
use dunlin_secret::Mode;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Most different keys in a keyspace.
const KEYS_MAX: u16 = 50;
/// Two of the largest blocks, the least a log takes.
const SEGMENT_BYTES_LEAST: u64 = 64 << 10;
/// More than a log of a run ever holds.
const SEGMENT_BYTES_MOST: u64 = 64 << 20;

/// One run, as its seed has it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed all of this and all that follows comes from.
    pub seed: u64,
    /// Nodes in the cluster, 3 to 5.
    pub nodes: usize,
    /// How many of them hold data at first, at least 3.
    pub members: usize,
    /// Whether the members change.
    pub moves: bool,
    /// Whether the last node never holds data, and hears of no change of those that do for some time.
    pub deafens: bool,
    /// Whether a node is lost for good on the way.
    pub buries: bool,
    /// Whether that is towards the end, and the node is cut off from the others just before it, not from its
    /// followers and clients.
    pub buries_late: bool,
    /// Bytes from which copied records are taken as files.
    pub ingest_bytes: usize,
    /// Whether partitions are copied a few records at a time, and the logs behind them read in between.
    pub small_copies: bool,
    /// Log bytes kept beyond `retention_bytes` for who copies.
    pub pins_bytes: u64,
    /// Shards in each node.
    pub shards: u16,
    /// Name and settings of each keyspace.
    pub keyspaces: Vec<(String, KeyspaceSettings)>,
    /// Different keys in each keyspace: mostly few, so that writes meet; sometimes enough for
    /// the last write of a key to stand for long.
    pub keys: u16,
    /// Clients, on a machine of their own.
    pub clients: usize,
    /// How far off their clocks are at most, in milliseconds.
    pub client_skew_ms_max: i64,
    /// Nodes that a client asks for the same thing, one after another.
    pub attempts: usize,
    /// Longest pause of a client between two operations, in milliseconds.
    pub pause_ms_max: u64,
    /// Longest value, in bytes.
    pub value_bytes_max: usize,
    /// Whether crashes may lose what was not synced; else processes are killed, which loses nothing written.
    pub power_loss: bool,
    /// Whether all machines lose their power at once in the moment in which a write is acknowledged.
    pub power_cuts: bool,
    /// Whether processes are killed, and start again at once, much more often than anything else goes wrong.
    pub restarts: bool,
    /// Whether processes are held for a while, as by SIGSTOP.
    pub pauses: bool,
    /// Whether clocks are wrong and jump.
    pub bad_clocks: bool,
    /// Whether nodes are cut off from the metadata store, hear of it late, or meet it without its memory.
    pub bad_metadata: bool,
    /// Whether disks are lost, put back as they were before, and rot.
    pub loses_disks: bool,
    /// Whether nodes are started a second time, on another machine, while they run.
    pub twins: bool,
    /// Whether a node loses what it has just acknowledged, and acknowledges more before it has it back.
    pub relapses: bool,
    /// Whether many writes ask for a condition, and for all replicas.
    pub conditions: bool,
    /// Whether logs mostly take longer to write and sync than an answer takes to its client.
    pub slow_disks: bool,
    /// Whether disks fail to sync, fail to write, and fill up.
    pub bad_disks: bool,
    /// Longest pause between two faults, in milliseconds.
    pub fault_pause_ms_max: u64,
    /// How long faults and clients go on, in milliseconds.
    pub chaos_ms: u64,
    /// Memtable size at which stores flush, in bytes.
    pub flush_bytes: usize,
    /// Log bytes kept for replicas that lag.
    pub retention_bytes: u64,
    /// Size of a log segment, in bytes.
    pub segment_bytes: u64,
    /// From when on clients do nothing, in milliseconds: what there is then is neither written again
    /// nor mended by reads, whatever goes wrong.
    pub rest_ms: u64,
    /// Whether all machines lose their power in the end, with all that was not synced, and clients do
    /// nothing after that.
    pub dark_end: bool,
    /// Whether values are written that expire, long after the run.
    pub expires: bool,
    /// Whether values of some keys are written that expire within the run.
    pub ends: bool,
    /// Whether logs are followed by others than replicas.
    pub follows: bool,
    /// Whether each keyspace has a view.
    pub views: bool,
    /// Whether there is a transactional keyspace, too.
    pub ranges: bool,
    /// How it is disturbed.
    pub range_faults: RangeFaults,
    /// Whether clients write many keys with one request.
    pub bulk: bool,
    /// Whether nodes prove a secret to each other.
    pub secrets: SecretUse,
    /// Deliberate bug in every node.
    pub sabotage: Sabotage,
    /// Judge by what clients saw alone: what stores hold is not looked at.
    pub values_only: bool,
}

/// How the transactional keyspace is disturbed.
#[derive(Debug, Clone, Default)]
pub struct RangeFaults {
    /// Whether its leaders are held and killed.
    pub unseats: bool,
    /// Whether some of its lists are in keyspaces of their own, which are dropped, undropped and purged.
    pub drops: bool,
    /// Whether a replica that is cut off is replaced, and comes back beside one that was killed.
    pub swaps: bool,
    /// Whether an operator has their replicas moved, and others lead.
    pub retargets: bool,
    /// Whether old versions and outcomes of transactions are forgotten soon.
    pub forgets: bool,
}

impl Plan {
    /// The run of this seed.
    pub fn new(seed: u64, sabotage: Sabotage) -> Plan {
        let mut random = StdRng::seed_from_u64(seed);
        let nodes = random.random_range(3..=5);
        let power_loss = random.random_bool(0.5);
        let mut plan = Plan {
            seed,
            nodes,
            members: nodes,
            moves: false,
            deafens: false,
            buries: false,
            buries_late: false,
            ingest_bytes: 1 << 20,
            small_copies: false,
            pins_bytes: 1 << 30,
            shards: if random.random_bool(0.2) { 2 } else { 1 },
            keyspaces: Vec::new(),
            keys: *pick(&mut random, &[3, 8, KEYS_MAX]),
            clients: random.random_range(2..=5) * nodes,
            client_skew_ms_max: *pick(&mut random, &[0, 50, 400]),
            attempts: random.random_range(1..=4),
            pause_ms_max: random.random_range(30..=250),
            value_bytes_max: *pick(&mut random, &[40, 600, 3_000]),
            power_loss,
            power_cuts: false,
            restarts: false,
            pauses: random.random_bool(0.5),
            bad_clocks: random.random_bool(0.6),
            bad_metadata: random.random_bool(0.4),
            loses_disks: random.random_bool(0.35),
            twins: false,
            relapses: false,
            conditions: false,
            slow_disks: false,
            bad_disks: random.random_bool(0.4),
            fault_pause_ms_max: random.random_range(500..=5_000),
            chaos_ms: random.random_range(12_000..=30_000),
            flush_bytes: random.random_range(8 << 10..=128 << 10),
            retention_bytes: random.random_range(70 << 10..=600 << 10),
            segment_bytes: SEGMENT_BYTES_LEAST,
            rest_ms: u64::MAX,
            dark_end: false,
            expires: false,
            ends: false,
            follows: false,
            views: false,
            ranges: false,
            range_faults: RangeFaults::default(),
            bulk: false,
            secrets: SecretUse::None,
            sabotage,
            values_only: sabotage != Sabotage::None,
        };
        plan.ingest_bytes = *pick(&mut random, &[1, 1 << 20]);
        plan.moves = nodes > 3 && random.random_bool(0.6);
        if plan.moves {
            plan.members = random.random_range(3..=nodes);
            plan.buries = random.random_bool(0.4);
        }
        let mut policies = vec![
            ("always", Sync::Always),
            ("interval", Sync::IntervalMs(random.random_range(20..=500))),
            ("never", Sync::Never),
        ];
        if random.random_bool(0.5) {
            // Alone: together, the syncs of one serve the others, too.
            policies = vec![*pick(&mut random, &policies)];
        }
        for (name, sync) in policies {
            let durable = sync == Sync::Always || !power_loss;
            let settings = KeyspaceSettings {
                replicas: 3,
                partitions: *pick(&mut random, &[1, 2, 4, 8]),
                sync,
                // What a power loss takes from a lax keyspace may be the only memory of a delete.
                tombstone_grace_s: if durable && random.random_bool(0.5) {
                    random.random_range(1..=5)
                } else {
                    86_400 * 10
                },
                ..KeyspaceSettings::default()
            };
            plan.keyspaces.push((name.into(), settings));
        }
        let has_durable = (0..plan.keyspaces.len()).any(|keyspace| plan.is_durable(keyspace));
        plan.power_cuts = power_loss && has_durable && random.random_bool(0.4);
        plan.twins = random.random_bool(0.25);
        plan.conditions = random.random_bool(0.25);
        plan.slow_disks = power_loss && random.random_bool(0.5);
        plan.expires = random.random_bool(0.25);
        if power_loss && random.random_bool(0.2) {
            plan.end_dark(&mut random);
        }
        if random.random_bool(0.15) {
            plan.keep_for_long(&mut random);
        } else if !plan.dark_end {
            // From a generator of its own: the other seeds mean what they did without it.
            let mut random = StdRng::seed_from_u64(seed ^ 0x0e1a_95e5);
            if random.random_bool(0.08) {
                plan.relapse(&mut random);
            }
        }
        // Again from a generator of its own.
        let mut random = StdRng::seed_from_u64(seed ^ 0x5ec2_e751);
        if random.random_bool(0.2) {
            plan.secrets = *pick(&mut random, &SecretUse::ALL);
        }
        let mut random = StdRng::seed_from_u64(seed ^ 0x7a11_5be5);
        plan.small_copies = random.random_bool(0.5);
        if plan.moves && plan.rest_ms == u64::MAX && random.random_bool(0.15) {
            plan.deafen();
        }
        plan.pins_bytes = *pick(&mut random, &[0, 200 << 10, 1 << 30]);
        // And again. Where clocks are wrong, nothing can be said of when a value's time is over.
        let mut random = StdRng::seed_from_u64(seed ^ 0xe7d5_0af1);
        plan.ends = !plan.bad_clocks && random.random_bool(0.5);
        let mut random = StdRng::seed_from_u64(seed ^ 0x5ea1_0042);
        plan.restarts = !plan.relapses && random.random_bool(0.1);
        let mut random = StdRng::seed_from_u64(seed ^ 0xf011_0e25);
        plan.follows = random.random_bool(0.3);
        if plan.follows {
            plan.stir(&mut random);
        }
        let mut random = StdRng::seed_from_u64(seed ^ 0x10ad_0045);
        plan.bulk = random.random_bool(0.35);
        let mut random = StdRng::seed_from_u64(seed ^ 0x01e3_5000);
        plan.views = random.random_bool(0.15);
        plan.add_ranges(power_loss);
        plan
    }

    /// Perhaps a transactional keyspace, and its faults: from generators of their own.
    fn add_ranges(&mut self, power_loss: bool) {
        let mut random = StdRng::seed_from_u64(self.seed ^ 0x5a4e_6e50);
        let may_have = !self.relapses && !self.deafens;
        self.ranges = may_have && random.random_bool(0.4);
        let mut moving = StdRng::seed_from_u64(self.seed ^ 0x5a4e_30fe);
        if self.ranges && self.nodes > 3 && !self.moves && moving.random_bool(0.4) {
            self.moves = true;
            self.members = moving.random_range(3..=self.nodes);
        }
        let faults = &mut self.range_faults;
        faults.retargets = self.ranges && moving.random_bool(0.5);
        faults.swaps = self.ranges && moving.random_bool(0.4);
        if faults.swaps {
            // Two on either side, and one between them.
            self.nodes = 5;
            self.members = 5;
            self.moves = false;
            self.buries = false;
            self.twins = false;
            self.fault_pause_ms_max = self.fault_pause_ms_max.max(4_000);
        }
        faults.unseats = self.ranges && random.random_bool(0.6);
        faults.forgets = self.ranges && random.random_bool(0.4);
        // So that a vote can be lost.
        self.slow_disks |= faults.unseats && power_loss && random.random_bool(0.8);
        let mut random = StdRng::seed_from_u64(self.seed ^ 0xd509_0042);
        // An old copy of the metadata would take drops back; a majority that keeps silent decides nothing.
        let may_drop = !self.bad_metadata && !self.loses_disks;
        faults.drops = self.ranges && may_drop && random.random_bool(0.6);
    }

    /// Much of what tokens must outlive.
    fn stir(&mut self, random: &mut StdRng) {
        if self.relapses || self.deafens || self.nodes == 3 {
            return;
        }
        if !self.moves && random.random_bool(0.5) {
            self.moves = true;
            self.members = random.random_range(3..=self.nodes);
        }
        self.buries |= self.moves && random.random_bool(0.5);
        if self.rest_ms == u64::MAX && !self.dark_end && random.random_bool(0.3) {
            self.buries = true;
            self.buries_late = true;
            // What would put it off.
            self.twins = false;
            self.loses_disks = false;
            // So that much of what it has alone is not overwritten.
            self.keys = KEYS_MAX;
        }
    }

    /// Five nodes, of which three of the first four hold data.
    fn deafen(&mut self) {
        self.deafens = true;
        self.nodes = 5;
        self.members = 3;
        self.buries = false;
        self.twins = false;
        // Most changes come to their end.
        self.loses_disks = false;
    }

    /// Three nodes, of which one relapses.
    fn relapse(&mut self, random: &mut StdRng) {
        self.relapses = true;
        self.nodes = 3;
        self.members = 3;
        self.shards = 1;
        self.moves = false;
        self.buries = false;
        self.twins = false;
        self.loses_disks = false;
        // Few, so that most are written in both halves.
        self.keys = 6;
        let keyspace = random.random_range(0..self.keyspaces.len());
        self.keyspaces = vec![self.keyspaces.swap_remove(keyspace)];
        // With clients whose deadlines are late enough for a node whose clock is ahead; what one of
        // them gave up would be tried again above that deadline.
        self.bad_clocks = true;
        self.attempts = 1;
        self.chaos_ms = random.random_range(20_000..=30_000);
    }

    /// A cluster in which stores are flushed all the time, up to the moment in which all lose their
    /// power.
    fn end_dark(&mut self, random: &mut StdRng) {
        self.dark_end = true;
        self.keys = KEYS_MAX;
        self.flush_bytes = random.random_range(2 << 10..=16 << 10);
    }

    /// A cluster that is to keep what it was given early, with logs that reach back to its beginning,
    /// while members come and go and disks are lost.
    fn keep_for_long(&mut self, random: &mut StdRng) {
        self.keys = KEYS_MAX;
        self.segment_bytes = SEGMENT_BYTES_MOST;
        self.rest_ms = random.random_range(3_000..=self.chaos_ms / 2);
        self.loses_disks = true;
        if self.nodes > 3 {
            self.moves = true;
            self.members = self.nodes;
            self.buries = random.random_bool(0.7);
        }
    }

    /// Whether the run has the circumstances in which its deliberate bug matters.
    pub fn tempts(&self) -> bool {
        match self.sabotage {
            Sabotage::AckUnsynced => self.power_cuts && self.slow_disks,
            Sabotage::FlushUnsynced => {
                let is_always = |(_, s): &(String, KeyspaceSettings)| s.sync == Sync::Always;
                self.dark_end && !self.keyspaces.iter().any(is_always)
            }
            Sabotage::IgnoreDeadlines => self.pauses && self.attempts > 1,
            Sabotage::FollowAnyClock => self.bad_clocks && self.expires,
            Sabotage::EndByNow => self.ends,
            Sabotage::HideGaps => {
                self.follows && (self.moves || self.loses_disks) && self.keys == KEYS_MAX
            }
            // What one replica has is lost with it.
            Sabotage::ShowEarly => {
                self.buries_late || self.follows && !self.moves && self.keeps_disks()
            }
            Sabotage::SkipAtSwitch | Sabotage::TokenAhead | Sabotage::JoinAtEnd => self.follows,
            Sabotage::IndexAnyOrder | Sabotage::PromiseByGap => self.views,
            Sabotage::RangeAckUnsynced => self.ranges && self.power_loss,
            Sabotage::VoteUnsynced => self.range_faults.unseats && self.slow_disks,
            Sabotage::KeepHigherEntries => self.range_faults.unseats,
            Sabotage::PutBackVotes | Sabotage::ReuseReplicaNumber => {
                self.ranges && self.loses_disks
            }
            Sabotage::ReadJoinsOlderRound
            | Sabotage::ReadPastLease
            | Sabotage::TimestampUnconfirmed => self.range_faults.unseats,
            Sabotage::SnapshotWithoutRecord | Sabotage::JudgeAtLeader | Sabotage::KeepCachedRow => {
                self.ranges
            }
            Sabotage::ForgetCommit
            | Sabotage::SkipJointOfRange
            | Sabotage::KeepOldConfiguration
            | Sabotage::RemakeRemoved => self.range_faults.swaps,
            Sabotage::NameForgotten => {
                self.follows && (self.moves || self.loses_disks) && self.keys == KEYS_MAX
            }
            Sabotage::TrustEmptyMetadata => self.bad_metadata,
            Sabotage::AnswerUncertain => self.loses_disks,
            Sabotage::AcceptTwins => self.twins,
            Sabotage::CountUnsure => self.relapses,
            Sabotage::RestampConditions => self.conditions,
            Sabotage::RefillOwnOnly => self.rest_ms < self.chaos_ms && self.buries,
            // Of writes while members change, and after it.
            Sabotage::SkipTail | Sabotage::SkipJoint => self.moves && self.rest_ms == u64::MAX,
            Sabotage::ForgetTail | Sabotage::TailAmongPages => {
                self.moves && self.rest_ms == u64::MAX && self.small_copies && self.keys == KEYS_MAX
            }
            Sabotage::ServeBehind => self.deafens,
            Sabotage::CompareNewer => self.loses_disks,
            // With few keys, the next write hides that a delete has not come.
            Sabotage::ForgetTombstones => self.keys == KEYS_MAX,
            _ => true,
        }
    }

    /// The steps in which partitions are copied.
    pub fn copy_steps(&self) -> CopySteps {
        if self.small_copies {
            CopySteps {
                page_items: 2,
                chunk_bytes: 1,
                tail_interval: Duration::from_millis(1),
                look_bytes: 400,
            }
        } else {
            CopySteps::default()
        }
    }

    /// Machines: one for each node, and one more where nodes are started a second time.
    pub fn machines(&self) -> usize {
        self.nodes + usize::from(self.twins)
    }

    /// Whether acknowledged writes to a keyspace survive every fault of this run.
    pub fn is_durable(&self, keyspace: usize) -> bool {
        let sync = self.keyspaces.get(keyspace).map(|(_, s)| s.sync);
        !self.power_loss || sync == Some(Sync::Always)
    }

    /// Whether all reads and writes of a key are by majorities of its replicas, so that together
    /// they are those of one register.
    pub fn is_majority(&self, (_, key): (usize, u16)) -> bool {
        key % 4 != 3
    }

    /// Whether a key is given values that expire within the run.
    pub fn ends_at(&self, (_, key): (usize, u16)) -> bool {
        self.ends && key % 2 == 1
    }

    /// Whether nothing that a node has acknowledged is lost there, but with the node.
    pub fn keeps_disks(&self) -> bool {
        !self.loses_disks && !self.twins && !self.relapses && !self.bad_disks
    }

    /// Whether nothing that one node has on disk is ever lost, and no clock says what is over.
    pub fn keeps_all(&self) -> bool {
        !self.loses_disks
            && !self.twins
            && !self.relapses
            && !self.buries
            && !self.bad_disks
            && !self.bad_clocks
            && !self.ends
    }

    /// Whether a power loss takes what a keyspace has acknowledged.
    pub fn is_lax(&self) -> bool {
        (0..self.keyspaces.len()).any(|keyspace| !self.is_durable(keyspace))
    }

    /// Whether deletes of a keyspace are forgotten within the run.
    pub fn forgets_deletes(&self, keyspace: usize) -> bool {
        // Clocks jump by hours, but not by days.
        self.keyspaces
            .get(keyspace)
            .is_some_and(|(_, s)| s.tombstone_grace_s < 86_400)
    }
}

/// Which nodes of a run prove a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretUse {
    /// None.
    None,
    /// Some do, and let in those that do not.
    Begun,
    /// All do, and some let in who does not.
    Offered,
    /// All do, and let in nobody else.
    Required,
}

impl SecretUse {
    const ALL: [SecretUse; 3] = [SecretUse::Begun, SecretUse::Offered, SecretUse::Required];

    /// What a start of a node may be told.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            SecretUse::None => &[Mode::Off],
            SecretUse::Begun => &[Mode::Off, Mode::Offered],
            SecretUse::Offered => &[Mode::Offered, Mode::Required],
            SecretUse::Required => &[Mode::Required],
        }
    }
}

/// One of some things.
pub fn pick<'a, T>(random: &mut StdRng, things: &'a [T]) -> &'a T {
    &things[random.random_range(0..things.len())]
}
