//! What runs beside each other, and which of it is installed.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::way::{Bound, Way, loopback};
use crate::error::BenchError;
use crate::host::machine::version;
use crate::program;
use crate::wal::device::fio;

/// A program that is there.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// Where.
    #[serde(skip)]
    pub path: PathBuf,
    /// As it names itself.
    pub version: String,
}

/// What runs, and which of it is installed.
#[derive(Debug, Clone, Serialize)]
pub struct Programs {
    /// Ours.
    pub dunlin: Program,
    /// Makes the sources.
    pub db_bench: Program,
    /// Beside ours, where installed.
    pub rsync: Option<Program>,
    /// The same.
    pub cp: Option<Program>,
    /// The disk's bound, where installed.
    pub fio: Option<Program>,
    /// The loopback's, where installed.
    pub iperf3: Option<Program>,
}

impl Programs {
    /// Looks for them.
    ///
    /// # Errors
    /// [`BenchError::NoDunlin`] and [`BenchError::Missing`] for those without which nothing can be
    /// measured.
    pub fn find(dunlin: Option<&Path>) -> Result<Programs, BenchError> {
        let dunlin = program::dunlin_or(dunlin)?;
        Ok(Programs {
            dunlin: named(dunlin, "dunlin"),
            db_bench: installed("db_bench").ok_or(BenchError::Missing {
                program: "db_bench",
                package: "rocksdb-tools",
            })?,
            rsync: installed("rsync"),
            cp: installed("cp"),
            fio: installed(fio::NAME),
            iperf3: installed(loopback::NAME),
        })
    }

    /// The ways that can be gone.
    pub fn ways(&self) -> Vec<Way> {
        let mut ways = Way::ALL.to_vec();
        ways.retain(|way| match way {
            Way::Rsync => self.rsync.is_some(),
            Way::Cp => self.cp.is_some(),
            _ => true,
        });
        ways
    }

    /// The bounds that can be measured.
    pub fn bounds(&self) -> Vec<Bound> {
        let mut bounds = Bound::ALL.to_vec();
        bounds.retain(|bound| match bound {
            Bound::Disk => self.fio.is_some(),
            Bound::Loopback => self.iperf3.is_some(),
        });
        bounds
    }

    /// What they call themselves, one after the other.
    pub fn line(&self) -> String {
        let all = [Some(&self.dunlin), Some(&self.db_bench)];
        let beside = [&self.rsync, &self.cp, &self.fio, &self.iperf3].map(Option::as_ref);
        let names = all.into_iter().chain(beside).flatten();
        let names: Vec<&str> = names.map(|program| program.version.as_str()).collect();
        names.join("; ")
    }
}

fn installed(name: &str) -> Option<Program> {
    program::find(name).map(|path| named(path, name))
}

fn named(path: PathBuf, name: &str) -> Program {
    let version = version(&path, name).unwrap_or_else(|| format!("{name}, version unknown"));
    Program { path, version }
}
