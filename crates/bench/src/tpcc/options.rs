//! Options of `dunlin-bench tpcc`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use dunlin_tpcc::input::Mix;

use super::case::Medium;

/// Options of `dunlin-bench tpcc`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TpccOptions {
    /// Something else than to measure.
    #[command(subcommand)]
    pub command: Option<TpccCommand>,
    /// All of docs/results/tpcc.md: mix paper on one warehouse, mix full on one and on ten, beside PostgreSQL, in memory and on the
    /// disk, with one replica and with three.
    #[arg(long, conflicts_with_all = ["warehouses", "terminals", "mix", "replicas"])]
    pub all: bool,
    /// Warehouses.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub warehouses: u32,
    /// Terminals, each with one transaction at a time [default: 10 for each warehouse, with the mix paper one].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub terminals: Option<u32>,
    /// Seconds of a round that count.
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// Which transactions.
    #[arg(long, default_value = "full")]
    pub mix: MixName,
    /// The same beside it, alternately; may be repeated.
    #[arg(long)]
    pub beside: Vec<Beside>,
    /// Where the data are; may be repeated [default: memory].
    #[arg(long = "on")]
    pub media: Vec<Medium>,
    /// Replicas of each row in Dunlin: on one node, or on three.
    #[arg(long, default_value_t = 1, value_parser = replicas)]
    pub replicas: u8,
    /// Kills the leader of all rows in the middle of each round (`kill -9`), and starts it again.
    #[arg(long)]
    pub kill_leader: bool,
    /// Terminals wait as people do who type and think: one warehouse does 12.86 NewOrders a minute at most.
    #[arg(long)]
    pub keying: bool,
    /// A tenth of the items and customers.
    #[arg(long)]
    pub tenth: bool,
    /// Of all random values.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
    /// Where data on the disk are while it lasts [default: the temporary directory].
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Where the report goes.
    #[arg(long, default_value = "target/bench")]
    pub out: PathBuf,
    /// The log of results of deliveries: when each was queued and done, and the orders by district.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/bench/tpcc-deliveries.log"
    )]
    pub deliveries: PathBuf,
}

/// What else it does.
#[derive(Debug, Clone, Subcommand)]
pub enum TpccCommand {
    /// Loads warehouses into a server that runs already; goes on where it was interrupted.
    Load(LoadOptions),
    /// Does the same transactions on Dunlin and on PostgreSQL, and compares their results and all rows at the end.
    Compare(CompareOptions),
}

/// Options of `dunlin-bench tpcc compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareOptions {
    /// Warehouses.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub warehouses: u32,
    /// Transactions, one after the other.
    #[arg(long, default_value_t = 2_000)]
    pub transactions: u32,
    /// All items and customers, instead of a tenth of them.
    #[arg(long)]
    pub whole: bool,
    /// Of all random values.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The dunlin binary [default: the one beside this program].
    #[arg(long)]
    pub dunlin: Option<PathBuf>,
}

/// Options of `dunlin-bench tpcc load`.
#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// Warehouses that there are then.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=99_999))]
    pub warehouses: u32,
    /// What to load.
    #[arg(long, default_value = "dunlin")]
    pub target: LoadTarget,
    /// Servers of Dunlin, which must have the transactional keyspace `tpcc`, or else it is made.
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "DUNLIN_SERVER")]
    pub server: String,
    /// Where PostgreSQL is.
    #[arg(long, default_value = "127.0.0.1:5432")]
    pub postgres: SocketAddr,
    /// Its user.
    #[arg(long, default_value = "postgres")]
    pub user: String,
    /// Its database.
    #[arg(long, default_value = "postgres")]
    pub database: String,
    /// A tenth of the items and customers.
    #[arg(long)]
    pub tenth: bool,
    /// Of all random values.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The database to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoadTarget {
    /// Dunlin.
    Dunlin,
    /// PostgreSQL.
    Postgres,
}

/// Another database beside Dunlin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Beside {
    /// PostgreSQL, read committed with locks of rows, and serializable.
    Postgres,
}

/// Which transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MixName {
    /// 57 % NewOrder and 43 % Payment by number, in the home warehouse: as paper 003.
    Paper,
    /// All five as specified.
    Full,
}

impl MixName {
    /// The mix.
    pub fn mix(self) -> Mix {
        match self {
            MixName::Paper => Mix::Paper,
            MixName::Full => Mix::Full,
        }
    }
}

fn replicas(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(count @ (1 | 3)) => Ok(count),
        _ => Err("replicas are 1 or 3".to_owned()),
    }
}
