//! The ways in which data gets from here to there, and what bounds them.

use serde::Serialize;

use super::Session;
use super::run::Run;
use super::source::Source;
use crate::error::BenchError;

pub mod cp;
pub mod disk;
pub mod dunlin;
pub mod loopback;
pub mod receiver;
pub mod rsync;

/// A way to copy a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// `dunlin copy --mode files`.
    Files,
    /// `dunlin copy --mode ingest`.
    Ingest,
    /// `dunlin copy --mode insert`.
    Insert,
    /// A daemon of rsync.
    Rsync,
    /// `cp -r`: no other process, no network.
    Cp,
}

/// What no way can be faster than.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Writing to the disk.
    Disk,
    /// TCP over the loopback.
    Loopback,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 5] = [Way::Files, Way::Ingest, Way::Insert, Way::Rsync, Way::Cp];

    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Files => "files",
            Way::Ingest => "ingest",
            Way::Insert => "insert",
            Way::Rsync => "rsync",
            Way::Cp => "cp",
        }
    }

    /// Whether it is one of Dunlin's.
    pub fn is_ours(self) -> bool {
        matches!(self, Way::Files | Way::Ingest | Way::Insert)
    }

    /// Copies once; the copy is left where the session has its target.
    ///
    /// # Errors
    /// When a program fails, when not all has arrived, or when the user stops the run.
    pub fn run(self, session: &Session, source: &Source) -> Result<Run, BenchError> {
        match self {
            Way::Rsync => rsync::run(session, source),
            Way::Cp => cp::run(session, source),
            ours => dunlin::run(session, source, dunlin::Call::of(ours)),
        }
    }
}

impl Bound {
    /// Both.
    pub const ALL: [Bound; 2] = [Bound::Disk, Bound::Loopback];

    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Disk => "disk alone (fio)",
            Bound::Loopback => "loopback alone (iperf3)",
        }
    }

    /// Measures once: bytes a second.
    ///
    /// # Errors
    /// When a program fails, or the user stops the run.
    pub fn run(self, session: &Session, source: &Source) -> Result<f64, BenchError> {
        match self {
            Bound::Disk => disk::run(session, source),
            Bound::Loopback => loopback::run(session),
        }
    }
}

/// The order of the ways in a round: each begins one round in as many.
pub fn in_turn<T: Copy>(all: &[T], round: usize) -> Vec<T> {
    let mut order = all.to_vec();
    order.rotate_left(round % all.len().max(1));
    order
}
