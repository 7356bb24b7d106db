//! Paper 001: two nodes, each key on both, values of 1 KB, sets at a constant rate; and the same while clients stream
//! all there is from the beginning.

use std::path::Path;

use serde::Serialize;

use crate::cluster::processes::{self, Setup};
use crate::cluster::{Cluster, redis};
use crate::error::{BenchError, failed};
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::load::http::Copies;
use crate::load::key::{Choice, KeySet, Order};
use crate::options::ReplicationOptions;
use crate::program;
use crate::progress::Progress;

mod cell;
mod drain;
mod link;
mod probe;
mod quiet;
pub mod report;
mod stream;
mod system;

pub use cell::{Cell, Row};
pub use drain::{Drain, Kind};
pub use link::Linked;

/// Bytes in a value.
pub const VALUE_BYTES: usize = 1_024;

/// How each set is acknowledged.
const COPIES: Copies = Copies { ack: 1, from: 2 };

/// Two nodes, each key on both.
fn two_nodes(
    dunlin: &Path,
    data: &Path,
    options: &ReplicationOptions,
    more: &[&str],
    interrupt: &Interrupt,
) -> Result<Cluster, BenchError> {
    let more = [&["--replicas", "2"], more].concat();
    let more: Vec<String> = more.into_iter().map(str::to_owned).collect();
    let setup = Setup {
        dunlin,
        sync: options.sync,
        more: &more,
        shards: options.shards,
        members: 2,
        spare: 0,
    };
    Ok(processes::start_with(&setup, data, interrupt)?)
}

/// So many keys of a tag, each once.
fn keys(tag: u8, end: u64) -> (KeySet, Choice) {
    let order = Order::Sequential;
    (KeySet { tag, order }, Choice::Each { next: 0, end })
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
    /// When writes are acknowledged.
    pub sync: String,
    /// Of each node.
    pub shards: u16,
    /// Seconds of each cell.
    pub cell_s: u64,
    /// In the order of the table.
    pub cells: Vec<Cell>,
    /// How fast one client is told all there is.
    pub drains: Vec<Drain>,
    /// The same cells of Redis, where it is installed.
    pub redis: Vec<Cell>,
    /// Its version.
    pub redis_version: Option<String>,
}

/// Carries it out.
///
/// # Errors
/// When a node does not start, a request cannot be sent or is not answered as it must be, or the user
/// stops the run.
pub fn run(
    options: &ReplicationOptions,
    interrupt: &Interrupt,
    date_utc: &str,
    command_line: &str,
) -> Result<Report, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let progress = Progress::start();
    let row = |rate, clients, quiet| Row {
        rate,
        clients,
        quiet,
        views: 0,
        links: 0,
    };
    let mut rows: Vec<Row> = options.rates.iter().map(|rate| row(*rate, 0, 0)).collect();
    let least = options.rates.first().copied().unwrap_or(6_000);
    rows.extend(
        options
            .clients
            .iter()
            .map(|clients| row(least, *clients, 0)),
    );
    if options.quiet > 0 {
        let most = options.clients.iter().max().copied().unwrap_or(0);
        rows.push(row(least, most, options.quiet));
    }
    if !options.no_views {
        rows.push(Row {
            views: 1,
            ..row(least, 0, 0)
        });
    }
    if !options.no_links {
        let views = usize::from(!options.no_views);
        rows.extend((0..=views).map(|views| Row {
            views,
            links: 1,
            ..row(least, 0, 0)
        }));
    }
    let (mut cells, mut beside) = (Vec::new(), Vec::new());
    let redis_program = redis::program().filter(|_| !options.no_redis);
    for row in rows {
        progress.say(&row.to_string());
        let cell = cell::run(&dunlin, &data, options, row, interrupt)?;
        progress.say(&cell.line());
        cells.push(cell);
        if redis_program.is_some()
            && row.rate == least
            && row.quiet == 0
            && row.views + row.links == 0
        {
            progress.say(&format!("{row}, Redis"));
            let cell = cell::of_redis(&data, options, row, interrupt)?;
            progress.say(&cell.line());
            beside.push(cell);
        }
    }
    let mut drains = Vec::new();
    if !options.no_drains {
        progress.say("one client, told all there is");
        drains = drain::run(&dunlin, &data, options, interrupt)?;
    }
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        machine: Machine::describe(&data),
        revision: revision(),
        dunlin: version(&dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        sync: options.sync.name().to_owned(),
        shards: options.shards,
        cell_s: options.cell.as_secs(),
        cells,
        drains,
        redis: beside,
        redis_version: redis_program.and_then(|program| version(&program, redis::NAME)),
    })
}
