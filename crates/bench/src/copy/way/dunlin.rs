//! `dunlin copy` to `dunlin receive`.

use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{Way, receiver};
use crate::child;
use crate::cluster::ports;
use crate::copy::Session;
use crate::copy::plan::CONNECTIONS;
use crate::copy::run::{Run, Transfer};
use crate::copy::source::Source;
use crate::error::BenchError;

/// Compression of the tables that the target writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tables {
    /// None, as in the source.
    None,
    /// What `dunlin copy` takes by itself.
    Lz4,
}

/// How it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Its mode.
    pub way: Way,
    /// Its connections.
    pub connections: usize,
    /// Compression of tables that the target writes; `files` writes none.
    pub table_compression: Tables,
}

/// What it says at the end, as far as it is of interest.
#[derive(Debug, Deserialize)]
struct Told {
    mode: String,
    pairs: u64,
    bytes: u64,
    units_done_before: usize,
    retries: u64,
}

impl Tables {
    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Tables::None => "none",
            Tables::Lz4 => "lz4",
        }
    }
}

impl Call {
    /// As it is called beside the other ways: tables compressed as they are in the source.
    pub fn of(way: Way) -> Call {
        Call {
            way,
            connections: CONNECTIONS,
            table_compression: Tables::None,
        }
    }
}

/// Copies once.
///
/// # Errors
/// [`BenchError::Miscounted`] when it says that it copied anything but the source; when it fails,
/// or the user stops the run.
pub fn run(session: &Session, source: &Source, call: Call) -> Result<Run, BenchError> {
    let port = ports::consecutive(1)?;
    let address = receiver::address(port);
    let mut receive = Command::new(&session.programs.dunlin.path);
    receive
        .args(["receive", "--listen", &address])
        .arg(session.target());
    let mut sender = Command::new(&session.programs.dunlin.path);
    sender
        .arg("copy")
        .arg(&source.path)
        .args([&address, "--json", "--mode", call.way.name()])
        .args(["--connections", &call.connections.to_string()])
        .args(["--table-compression", call.table_compression.name()]);
    let transfer = Transfer {
        sender,
        receiver: Some(receiver::start(session, "dunlin receive", receive, port)?),
        bytes: source.holds.bytes,
    };
    let (run, printed) = transfer.carry_out(session)?;
    told(&printed, call.way.name())?.check(source, call.way == Way::Files)?;
    Ok(run)
}

/// Compares the copy with its source, pair by pair.
///
/// # Errors
/// [`BenchError::Miscounted`] when there are more or fewer pairs than were made; when they differ,
/// or the user stops the run.
pub fn verify(session: &Session, source: &Source) -> Result<(), BenchError> {
    let mut command = Command::new(&session.programs.dunlin.path);
    command
        .arg("copy")
        .args([&source.path, &session.target()])
        .args(["--verify-only", "--json"]);
    let printed = child::run(command, session.scratch.path(), &session.interrupt)?;
    told(&printed, "verify")?.check(source, false)
}

fn told(printed: &str, mode: &str) -> Result<Told, BenchError> {
    let told: Told = serde_json::from_str(printed)?;
    if told.mode == mode {
        Ok(told)
    } else {
        Err(BenchError::Miscounted(format!(
            "dunlin copy says {}, not {mode}",
            told.mode
        )))
    }
}

impl Told {
    /// Files carry more than pairs, and do not count them.
    fn check(&self, source: &Source, is_files: bool) -> Result<(), BenchError> {
        let holds = &source.holds;
        let is_all = if is_files {
            self.pairs == 0 && (holds.bytes..=holds.file_bytes).contains(&self.bytes)
        } else {
            (self.pairs, self.bytes) == (holds.pairs, holds.bytes)
        };
        // A unit sent twice or not at all is no copy to be timed.
        if is_all && self.units_done_before == 0 && self.retries == 0 {
            return Ok(());
        }
        Err(BenchError::Miscounted(format!(
            "{self:?} of a source of {} pairs, {} bytes, in {} bytes of files",
            holds.pairs, holds.bytes, holds.file_bytes
        )))
    }
}
