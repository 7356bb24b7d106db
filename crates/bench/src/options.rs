//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cluster::Sync;
use crate::ladder::case::{Rung, RungAt, Stage};
use crate::load::key::Order;
use crate::tpcc::options::TpccOptions;

/// Load tests of Dunlin, one for each table it is compared with.
#[derive(Debug, Parser)]
#[command(name = "dunlin-bench", version, about)]
pub struct Options {
    /// Which table.
    #[command(subcommand)]
    pub table: Table,
}

/// One for each paper.
#[derive(Debug, Subcommand)]
pub enum Table {
    /// Paper 004: one copy against three, PUT and GET, at constant rates.
    Quorum(QuorumOptions),
    /// Paper 002: block size and padding of the log.
    Wal(WalOptions),
    /// Paper 000: copying a database, beside rsync, cp, the disk and the loopback.
    Copy(CopyOptions),
    /// What clients feel while a node joins and a node is drained.
    Move(MoveOptions),
    /// One node with one shard and with several.
    Shards(ShardsOptions),
    /// Copies of ranges of transactional keyspaces, and changes of their leaders.
    Ranges(RangesOptions),
    /// Transactions: of one client, step by step, beside PostgreSQL; with --contention of many clients on one key.
    Txn(TxnOptions),
    /// Paper 001: two nodes under constant rates, change stream clients beside.
    Replication(ReplicationOptions),
    /// A view of a million documents, beside SQLite.
    Views(ViewsOptions),
    /// Paper 003: messages one way between two threads, beside a bare stream and iperf3.
    Transport(PairOptions),
    /// Paper 003: calls between two threads, beside a blocking ping-pong, a bare stream and gRPC.
    Rpc(PairOptions),
    /// Paper 003: a workload derived from TPC-C, beside PostgreSQL.
    Tpcc(TpccOptions),
    /// Puts and gets of Dunlin, etcd, NATS JetStream and Redis, in turns.
    ///
    /// etcd and NATS are those that `scripts/rivals.sh` builds (it needs Go), Redis is the installed one (Debian:
    /// `redis-server` or `redis-tools`). What is not there is left out, and named.
    Rivals(RivalsOptions),
}

/// A part of `dunlin-bench wal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The paper's grid, padded against unpadded.
    Grid,
    /// Experiments that vary one thing at a time.
    Causes,
    /// RocksDB's own log, where `db_bench` is installed.
    Rival,
    /// The disk alone.
    Device,
    /// Recovery and cursors.
    Read,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 5] = [
        Part::Grid,
        Part::Causes,
        Part::Rival,
        Part::Device,
        Part::Read,
    ];
}

/// Options of `dunlin-bench wal`.
#[derive(Debug, Clone, Args)]
pub struct WalOptions {
    /// A part of the grid and short runs, in under 4 minutes; too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Only these parts [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub parts: Vec<Part>,
    /// Entries of each cell and policy [default: 100000 as in the paper, with --quick 20000].
    #[arg(long)]
    pub entries: Option<u64>,
    /// Timed runs of each cell and policy [default: 8, with --quick 4].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Where the logs are written while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl WalOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// Options of `dunlin-bench copy`.
#[derive(Debug, Clone, Args)]
pub struct CopyOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Two small sources, two runs of each way; too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Keys and values of each source, as in 2GiB or 500MB [default: 2GiB, with --quick 64MiB].
    #[arg(long, value_parser = size)]
    pub size: Option<u64>,
    /// Keys and values of one more source, of values of 256 B, for copies that last [default: 8GiB,
    /// with --quick none].
    #[arg(long, value_parser = size)]
    pub long_size: Option<u64>,
    /// Bytes in a value; each makes a source [default: 128,256,512,1024, with --quick 128,256].
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub values: Vec<u64>,
    /// Runs of each way on each source [default: 5, with --quick 2].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Where sources and copies lie while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Leave the sources there.
    #[arg(long)]
    pub keep: bool,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl CopyOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// Options of `dunlin-bench move`.
#[derive(Debug, Clone, Args)]
pub struct MoveOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Little data, short phases, one run of each case; too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Keys and values before anything moves, each counted once, as in 2GiB or 500MB [default:
    /// 512MB, with --quick 32MB].
    #[arg(long, value_parser = size)]
    pub size: Option<u64>,
    /// Bytes in a value.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(32..=1 << 20))]
    pub value_size: u64,
    /// Requests a second, half of them GET, half PUT [default: 4000, with --quick 1000].
    #[arg(long)]
    pub rate: Option<u32>,
    /// Connections of the load.
    #[arg(long, default_value_t = 32, value_parser = connection_count)]
    pub connections: usize,
    /// When writes are acknowledged; each makes cases of its own.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "never")]
    pub sync: Vec<Sync>,
    /// Only these cases [default: all that this dunlin can do].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub cases: Vec<Pacing>,
    /// Seconds before, between and after the moves [default: 30, with --quick 5].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub rest: Option<u32>,
    /// Runs of each case, each on a cluster of its own; the median counts [default: 3, with
    /// --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Where the nodes keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl MoveOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// What a move has to heed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Clients, whose latency is bounded as it is by default.
    Bounded,
    /// Nothing: there are no clients.
    Idle,
    /// Clients, whose latency has no bound to speak of.
    Unbounded,
}

/// Options of `dunlin-bench shards`.
#[derive(Debug, Clone, Args)]
pub struct ShardsOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Numbers of shards, measured in turns.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    pub counts: Vec<u16>,
    /// Connections of the load; each number makes cases of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [8, 64], value_parser = connection_count)]
    pub connections: Vec<usize>,
    /// Bytes in a value.
    #[arg(long, default_value_t = 100)]
    pub value_size: usize,
    /// When writes are acknowledged.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Sync::Never, Sync::Always])]
    pub sync: Vec<Sync>,
    /// Rounds, each on nodes of their own; the median counts [default: 5, with --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Where the nodes keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl ShardsOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// Options of `dunlin-bench ranges`.
#[derive(Debug, Clone, Args)]
pub struct RangesOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Requests a second beside the second copy.
    #[arg(long, default_value_t = 4_000.0)]
    pub rate: f64,
    /// Rounds, each on a cluster of its own; the median counts [default: 3, with --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Where the nodes keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl RangesOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// Options of `dunlin-bench txn`.
#[derive(Debug, Clone, Args)]
pub struct TxnOptions {
    /// Of many clients on one key, instead of those of one client beside PostgreSQL.
    #[arg(long)]
    pub contention: bool,
    /// These stages alone; may be repeated.
    #[arg(long = "stage")]
    pub stages: Vec<Stage>,
    /// These ways of sending a transaction alone; may be repeated.
    #[arg(long = "rung")]
    pub rungs: Vec<Rung>,
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Rounds; the median counts [default: 3, with --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Seconds of a case [default: 2, with --quick 0.4].
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Where the nodes keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl TxnOptions {
    /// Whether cases of several transactions at a time are to run.
    pub fn wants_flights(&self) -> bool {
        self.rungs.is_empty() && (self.stages.is_empty() || self.stages.contains(&Stage::Memory))
    }

    /// Whether a case is to run.
    pub fn wants(&self, case: RungAt) -> bool {
        let stage = self.stages.is_empty() || self.stages.contains(&case.stage);
        stage && (self.rungs.is_empty() || self.rungs.contains(&case.rung))
    }

    /// How often each case has its turn.
    pub fn rounds(&self) -> usize {
        rounds(self.repeats, self.quick)
    }

    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

/// Options of `dunlin-bench transport` and `dunlin-bench rpc`.
#[derive(Debug, Clone, Args)]
pub struct PairOptions {
    /// Rounds; the median counts [default: 3, with --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl PairOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }

    /// How often each case has its turn.
    pub fn rounds(&self) -> usize {
        rounds(self.repeats, self.quick)
    }
}

/// Options of `dunlin-bench replication`.
#[derive(Debug, Clone, Args)]
pub struct ReplicationOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Seconds of each cell, as in 20s; the paper has 15 minutes.
    #[arg(long, default_value = "60s", value_parser = cell_length)]
    pub cell: Duration,
    /// Sets a second without clients.
    #[arg(long, value_delimiter = ',', default_values_t = [6_000, 11_000, 14_000])]
    pub rates: Vec<u32>,
    /// Stream clients, at the first of the rates.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 5, 10, 25])]
    pub clients: Vec<usize>,
    /// Clients of a keyspace that nobody writes, beside the most of the others; 0 leaves them out.
    #[arg(long, default_value_t = 1_000)]
    pub quiet: usize,
    /// Leaves out the same with a view.
    #[arg(long)]
    pub no_views: bool,
    /// Leaves out the same with a link to a second cluster of two nodes, with and without a view.
    #[arg(long)]
    pub no_links: bool,
    /// Leaves out how fast one client is told all there is.
    #[arg(long)]
    pub no_drains: bool,
    /// Leaves out Redis with a replica, where it is installed (Debian: `redis-server`).
    #[arg(long)]
    pub no_redis: bool,
    /// When writes are acknowledged: without a sync, as in the paper, or with one.
    #[arg(long, value_enum, default_value = "never")]
    pub sync: Sync,
    /// Shards of each node.
    #[arg(long, default_value_t = 1)]
    pub shards: u16,
    /// Where the nodes keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes.
    #[arg(long, default_value = "docs/results")]
    pub out: PathBuf,
}

/// Options of `dunlin-bench views`.
#[derive(Debug, Clone, Args)]
pub struct ViewsOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Few documents and short runs, in under a minute; too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Documents [default: 1000000, with --quick 50000].
    #[arg(long)]
    pub documents: Option<u64>,
    /// Sets a second while it is measured how far the view is behind.
    #[arg(long, default_value_t = 6_000)]
    pub rate: u64,
    /// When writes are acknowledged.
    #[arg(long, value_enum, default_value = "always")]
    pub sync: Sync,
    /// Shards of the node.
    #[arg(long, default_value_t = 2)]
    pub shards: u16,
    /// Where the node keeps its data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl ViewsOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        let default = if self.quick {
            "target/bench"
        } else {
            "docs/results"
        };
        self.out.clone().unwrap_or_else(|| default.into())
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.documents
            .unwrap_or(if self.quick { 50_000 } else { 1_000_000 })
    }

    /// How long what is measured over a time takes.
    pub fn cell(&self) -> Duration {
        Duration::from_secs(if self.quick { 3 } else { 30 })
    }

    /// How often what is measured once is repeated.
    pub fn repeats(&self) -> usize {
        if self.quick { 5 } else { 20 }
    }
}

fn cell_length(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text);
    match number.parse() {
        Ok(seconds @ 2..) => Ok(Duration::from_secs(seconds)),
        _ => Err("write seconds, at least 2, as in 20s".to_owned()),
    }
}

/// Options of `dunlin-bench rivals`.
#[derive(Debug, Clone, Args)]
pub struct RivalsOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// How Dunlin's three nodes run; each of the others' is a process.
    #[arg(long, value_enum, default_value = "processes")]
    pub cluster: Shape,
    /// Only these [default: all that are there].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub stores: Vec<Store>,
    /// Connections of the load; each number makes cases of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128], value_parser = connection_count)]
    pub connections: Vec<usize>,
    /// Bytes in a value.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=1 << 16))]
    pub value_size: u32,
    /// Rounds, in which every case has its turn; the median counts [default: 5, with --quick 1].
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Times that a leader is killed, of Dunlin's transactional keyspace and of etcd [default: 20, with --quick 2].
    #[arg(long)]
    pub kills: Option<usize>,
    /// Too short to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Where the servers keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl RivalsOptions {
    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }

    /// As they are by default, with what a run of `dunlin-bench quorum` was given.
    pub fn after(quorum: &QuorumOptions) -> RivalsOptions {
        RivalsOptions {
            dunlin: quorum.dunlin.clone(),
            cluster: Shape::Processes,
            stores: Vec::new(),
            connections: vec![64, 128],
            value_size: 256,
            repeats: None,
            kills: None,
            quick: quorum.quick,
            data_dir: quorum.data_dir.clone(),
            out: quorum.out.clone(),
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// Ours.
    Dunlin,
    /// Of `scripts/rivals.sh`.
    Etcd,
    /// NATS with JetStream, of `scripts/rivals.sh`.
    Nats,
    /// The installed one.
    Redis,
}

/// How the three nodes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One process: `dunlin up`.
    Up,
    /// Three processes on a real etcd: `dunlin serve`.
    Processes,
}

/// Options of `dunlin-bench quorum`.
#[derive(Debug, Clone, Args)]
pub struct QuorumOptions {
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// How the three nodes run.
    #[arg(long, value_enum, default_value = "up")]
    pub cluster: Shape,
    /// Connections of the load; each number is swept [default: 4 as in the paper, and in
    /// ordinary runs 64 too].
    #[arg(long, value_delimiter = ',', value_parser = connection_count)]
    pub connections: Vec<usize>,
    /// Bytes in a value.
    #[arg(long, default_value_t = 100)]
    pub value_size: usize,
    /// Keys written in growing or scattered order.
    #[arg(long, value_enum, default_value = "random")]
    pub keys: Order,
    /// A look in under 2 minutes; too short to be quoted.
    #[arg(long, conflicts_with = "paper")]
    pub quick: bool,
    /// Runs of 30 s of which 10 are not counted, as in the paper.
    #[arg(long)]
    pub paper: bool,
    /// Full runs of each cell; the median counts.
    #[arg(long)]
    pub repeats: Option<usize>,
    /// Records to read from.
    #[arg(long)]
    pub fill: Option<u64>,
    /// Then make the table of `dunlin-bench rivals`, which says there what it needs.
    #[arg(long)]
    pub rivals: bool,
    /// Where the servers keep their data while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes [default: docs/results, with --quick target/bench].
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// How long everything takes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Timing {
    /// A full run.
    #[serde(rename = "run_s", serialize_with = "seconds")]
    pub run: Duration,
    /// The part of it that is not counted.
    #[serde(rename = "run_warmup_s", serialize_with = "seconds")]
    pub run_warmup: Duration,
    /// A probe of the sweep.
    #[serde(rename = "probe_s", serialize_with = "seconds")]
    pub probe: Duration,
    /// The part of it that is not counted.
    #[serde(rename = "probe_warmup_s", serialize_with = "seconds")]
    pub probe_warmup: Duration,
    /// A closed-loop run.
    #[serde(rename = "closed_s", serialize_with = "seconds")]
    pub closed: Duration,
    /// The part of it that is not counted.
    #[serde(rename = "closed_warmup_s", serialize_with = "seconds")]
    pub closed_warmup: Duration,
    /// Full runs of each cell at one rate.
    pub repeats: usize,
    /// Rates tried with full runs.
    pub rounds_max: u32,
    /// Probes of each case at most.
    pub probes_max: u32,
    /// No further round begins after this.
    #[serde(rename = "rounds_until_s", serialize_with = "seconds")]
    pub rounds_until: Duration,
    /// Ratio between the sweep's last failure and its result.
    pub precision: f64,
    /// Records to read from.
    pub fill: u64,
}

impl QuorumOptions {
    /// The times that the flags ask for.
    pub fn timing(&self) -> Timing {
        let ms = Duration::from_millis;
        let mut timing = Timing {
            run: ms(10_000),
            run_warmup: ms(3_000),
            probe: ms(1_600),
            probe_warmup: ms(400),
            closed: ms(4_000),
            closed_warmup: ms(1_000),
            repeats: 3,
            rounds_max: 4,
            probes_max: 24,
            rounds_until: ms(900_000),
            precision: 0.06,
            fill: 100_000,
        };
        if self.quick {
            timing = Timing {
                run: ms(3_000),
                run_warmup: ms(1_000),
                probe: ms(700),
                probe_warmup: ms(200),
                closed: ms(1_500),
                closed_warmup: ms(500),
                repeats: 1,
                rounds_max: 2,
                probes_max: 10,
                rounds_until: ms(70_000),
                precision: 0.15,
                fill: 20_000,
            };
        } else if self.paper {
            timing.run = ms(30_000);
            timing.run_warmup = ms(10_000);
            timing.rounds_until = ms(750_000);
        }
        timing.repeats = self.repeats.unwrap_or(timing.repeats).max(1);
        timing.fill = self.fill.unwrap_or(timing.fill).max(1);
        timing
    }

    /// The numbers of connections that the flags ask for.
    pub fn connections(&self) -> Vec<usize> {
        match self.connections.as_slice() {
            [] if self.quick || self.paper => vec![4],
            [] => vec![4, 64],
            given => given.to_vec(),
        }
    }

    /// Where the report goes.
    pub fn out(&self) -> PathBuf {
        out(&self.out, self.quick)
    }
}

fn rounds(repeats: Option<usize>, quick: bool) -> usize {
    repeats.unwrap_or(if quick { 1 } else { 3 }).max(1)
}

/// A quick run never overwrites results.
fn out(asked: &Option<PathBuf>, quick: bool) -> PathBuf {
    let default = if quick {
        "target/bench"
    } else {
        "docs/results"
    };
    asked.clone().unwrap_or_else(|| default.into())
}

fn connection_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=10_000) => Ok(count),
        _ => Err("connections are 1 to 10000".to_owned()),
    }
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write one as in 2GiB or 500MB");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// A duration as a number of seconds.
///
/// # Errors
/// When the serializer has one.
pub fn seconds<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
