//! Ranges of transactional keyspaces: how fast a lost replica gets a copy, at rest and beside clients, and for how long
//! clients wait while another replica takes the lead.
//!
//! - [`amounts`]: how much is measured; [`mod@run`]: one round, on a cluster of its own; [`remote`]: what the nodes say
//! - [`report`]: the tables

use serde::Serialize;

use crate::cluster::etcd;
use crate::error::BenchError;
use crate::host::machine::{Machine, revision, version};
use crate::interrupt::Interrupt;
use crate::options::RangesOptions;
use crate::program;
use crate::progress::Progress;

pub mod amounts;
pub mod remote;
pub mod report;
pub mod run;

use amounts::{Amounts, Given};
use run::Round;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct RangesReport {
    /// When it began.
    pub date_utc: String,
    /// As it was started.
    pub command_line: String,
    /// Whether it is too short to be quoted.
    pub quick: bool,
    /// Where.
    pub machine: Machine,
    /// The commit.
    pub revision: Option<String>,
    /// The version.
    pub dunlin: String,
    /// How much was measured.
    pub amounts: Amounts,
    /// One of each round.
    pub rounds: Vec<Round>,
}

/// Carries it out.
///
/// # Errors
/// When a cluster does not start, a request fails, a copy does not end, or the user stops the run.
pub fn run(
    options: &RangesOptions,
    interrupt: &Interrupt,
    date_utc: &str,
    command_line: &str,
) -> Result<RangesReport, BenchError> {
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    if etcd::program().is_none() {
        return Err(BenchError::Missing {
            program: "etcd",
            package: "etcd-server",
        });
    }
    let (repeats, values, before_s, transfers) = if options.quick {
        (1, 500, 2, 3)
    } else {
        (3, 16_384, 10, 20)
    };
    let given = Given {
        data: options.data_dir.clone().unwrap_or_else(std::env::temp_dir),
        amounts: Amounts {
            repeats: options.repeats.unwrap_or(repeats).max(1),
            values,
            value_bytes: 64 << 10,
            rate_per_s: options.rate,
            small_bytes: 256,
            before_s,
            transfers,
        },
        dunlin,
        interrupt,
        progress: Progress::start(),
    };
    let mut rounds = Vec::new();
    for number in 1..=given.amounts.repeats {
        let round = run::round(&given)?;
        given.progress.say(&format!(
            "round {number} of {}: {}",
            given.amounts.repeats,
            report::line(&round)
        ));
        rounds.push(round);
    }
    Ok(RangesReport {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: options.quick,
        machine: Machine::describe(&given.data),
        revision: revision(),
        dunlin: version(&given.dunlin, "dunlin").unwrap_or_else(|| "unknown".into()),
        amounts: given.amounts,
        rounds,
    })
}
