//! A view of a million documents: how fast it is built, how far it is behind, how fast it answers; beside it SQLite
//! with an index of an expression.

use serde::Serialize;

use crate::cluster::processes::{self, Setup};
use crate::error::{BenchError, failed};
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::options::ViewsOptions;
use crate::program;
use crate::progress::Progress;
use crate::spread::Spread;

mod documents;
mod lag;
mod queries;
pub mod report;
mod sqlite;
mod steps;

/// Groups that the documents are in.
pub const GROUPS: u64 = 1_000;

/// What was measured of a build.
#[derive(Debug, Clone, Serialize)]
pub struct Build {
    /// Documents a second.
    pub documents_per_s: f64,
    /// Documents a second of a processor, all that the node did counted.
    pub documents_per_cpu_s: f64,
}

/// What was measured of a kind of query.
#[derive(Debug, Clone, Serialize)]
pub struct Queries {
    /// Connections at once.
    pub connections: usize,
    /// Answers a second.
    pub per_s: f64,
    /// Of one answer, 50, 95 and 99 of a hundred, in milliseconds.
    pub ms: [f64; 3],
}

/// What was measured while documents were written.
#[derive(Debug, Clone, Serialize)]
pub struct Lag {
    /// Sets a second that were wanted.
    pub rate: u64,
    /// Those that were reached.
    pub reached: f64,
    /// From the answer to a set until the view has it, 50, 95 and 99 of a hundred, in milliseconds.
    pub ms: [f64; 3],
    /// An answer with `stale=false`.
    pub fresh_ms: [f64; 3],
    /// Processors that the node used.
    pub cpus: f64,
}

/// SQLite, beside.
#[derive(Debug, Clone, Serialize)]
pub struct Sqlite {
    /// Its version.
    pub version: String,
    /// Documents a second that the index was made of.
    pub documents_per_s: f64,
    /// Point queries a second, of one connection.
    pub point_per_s: f64,
    /// Counts of all groups, in milliseconds.
    pub groups_ms: Spread,
}

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// When it began.
    pub date_utc: String,
    /// As it was started.
    pub command_line: String,
    /// Where.
    pub machine: Machine,
    /// The commit.
    pub revision: Option<String>,
    /// The version.
    pub dunlin: String,
    /// Shards of the node.
    pub shards: u16,
    /// Documents.
    pub documents: u64,
    /// The view is built.
    pub build: Build,
    /// Rows of a key.
    pub point: Queries,
    /// Counts of all groups, in milliseconds.
    pub groups_ms: Spread,
    /// While documents are written.
    pub lag: Lag,
    /// Beside it, where Python has it.
    pub sqlite: Option<Sqlite>,
}

/// Carries it out.
///
/// # Errors
/// When a node does not start, a request is not answered as it must be, or the user stops the run.
pub fn run(
    options: &ViewsOptions,
    interrupt: &Interrupt,
    date_utc: &str,
    command_line: &str,
) -> Result<Report, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let documents = options.documents();
    let progress = Progress::start();
    let more = ["--replicas".to_owned(), "1".to_owned()];
    let setup = Setup {
        dunlin: &dunlin,
        sync: options.sync,
        more: &more,
        shards: options.shards,
        members: 1,
        spare: 0,
    };
    let mut cluster = processes::start_with(&setup, &data, interrupt)?;
    progress.say(&format!("loading {documents} documents"));
    steps::load(&dunlin, &cluster, documents)?;
    progress.say("building the view");
    let build = steps::build(&cluster, documents, interrupt)?;
    progress.say(&format!("{:.0} documents/s", build.documents_per_s));
    let address = cluster.addresses[0];
    let groups_ms = queries::groups(address, documents, options.repeats())?;
    progress.say(&format!("groups: {:.1} ms", groups_ms.median));
    let point = queries::point(address, options.cell(), interrupt)?;
    progress.say(&format!("{:.0} point queries/s", point.per_s));
    let lag = lag::run(&cluster, options.rate, options.cell(), interrupt)?;
    progress.say(&format!("behind by {:.1} ms (p99)", lag.ms[2]));
    cluster.check()?;
    cluster.end(interrupt)?;
    progress.say("SQLite");
    let sqlite = sqlite::run(&data, documents, options.repeats())?;
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        machine: Machine::describe(&data),
        revision: revision(),
        dunlin: version(&dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        shards: options.shards,
        documents,
        build,
        point,
        groups_ms,
        lag,
        sqlite,
    })
}

/// 50, 95 and 99 of a hundred, in milliseconds.
fn percentiles(mut all_ms: Vec<f64>) -> [f64; 3] {
    all_ms.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (all_ms.len() as f64 * share).ceil() as usize;
        all_ms
            .get(index.saturating_sub(1))
            .copied()
            .unwrap_or(f64::NAN)
    };
    [0.5, 0.95, 0.99].map(at)
}
