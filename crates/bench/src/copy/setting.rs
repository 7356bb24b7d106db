//! One source, copied by the same mode with other settings.

use serde::Serialize;

use super::Session;
use super::case::Taken;
use super::source::Source;
use super::way::dunlin::{self, Call, Tables};
use super::way::{Way, in_turn};
use crate::error::BenchError;

/// A mode with its settings, and its runs.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// How it was called.
    #[serde(flatten)]
    pub call: Call,
    /// All its runs.
    #[serde(flatten)]
    pub taken: Taken,
}

/// `ingest` with each number of connections, and both modes that write tables with the
/// compression that they take by themselves.
fn calls(connections: &[usize]) -> Vec<Call> {
    let ingest = Call::of(Way::Ingest);
    let mut calls: Vec<Call> = connections
        .iter()
        .map(|&connections| Call {
            connections,
            ..ingest
        })
        .collect();
    calls.extend([Way::Ingest, Way::Insert].map(|way| Call {
        table_compression: Tables::Lz4,
        ..Call::of(way)
    }));
    calls
}

/// Copies a source with every setting, round by round.
///
/// # Errors
/// When a copy fails, or the user stops the run.
pub fn measure(session: &Session, source: &Source) -> Result<Vec<Setting>, BenchError> {
    let calls = calls(&session.plan.connections);
    let mut runs = vec![Vec::new(); calls.len()];
    let order: Vec<usize> = (0..calls.len()).collect();
    for round in 0..session.plan.repeats {
        for at in in_turn(&order, round) {
            session.begin_afresh()?;
            let call = calls[at];
            let run = dunlin::run(session, source, call)?;
            let name = format!(
                "{} with {} connections, tables {}",
                call.way.name(),
                call.connections,
                call.table_compression.name()
            );
            session.say_run(source, &name, (round, session.plan.repeats), &run);
            runs[at].push(run);
        }
    }
    session.begin_afresh()?;
    let all = calls.into_iter().zip(runs);
    let settings = all.map(|(call, runs)| Setting {
        call,
        taken: Taken::of(runs, source.holds.bytes),
    });
    Ok(settings.collect())
}
