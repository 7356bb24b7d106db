//! `db_bench`, RocksDB's own measuring program.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::child;
use crate::error::BenchError;
use crate::host::cpu;
use crate::host::machine::version;
use crate::program;
use crate::wal::Session;
use crate::wal::entry::Entry;
use crate::wal::writers::WRITERS;

const NAME: &str = "db_bench";
/// No memtable is flushed and no file compacted while it runs.
const WRITE_BUFFER_BYTES: u64 = 1 << 30;

/// The installed program.
#[derive(Debug, Clone)]
pub struct DbBench {
    program: PathBuf,
}

/// One run of `fillrandom`.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// What is put.
    pub entry: Entry,
    /// By each of six threads.
    pub entries_each: u64,
    /// Whether there is a log.
    pub wal: bool,
    /// Whether each put waits for a sync.
    pub sync: bool,
    /// Whether RocksDB takes the time of its own steps, which costs some.
    pub timed: bool,
}

/// What a run of it printed and cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ran {
    /// Mean time of an operation, as each thread sees it.
    pub op_us: f64,
    /// Operations of all threads.
    pub operations: u64,
    /// How long they took.
    pub seconds: f64,
    /// CPU time of the process, start and end included.
    pub cpu: Duration,
    /// What its threads spent in writing the log, where it took the time.
    pub wal: Option<Duration>,
    /// What they spent in the memtable.
    pub memtable: Option<Duration>,
    /// Whether it was built with assertions.
    pub assertions: bool,
}

impl Ran {
    /// Operations per second.
    pub fn per_s(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }

    /// Wall time per operation, all threads together.
    pub fn entry_us(&self) -> f64 {
        self.seconds * 1e6 / self.operations.max(1) as f64
    }

    /// Time per operation in writing the log, in microseconds; 0 where it was not taken. No two
    /// threads write it at once.
    pub fn wal_us(&self) -> f64 {
        self.per_operation_us(self.wal)
    }

    /// Wall time per operation without that in the memtable, in microseconds, as if no two threads
    /// were ever in it at once.
    pub fn path_us(&self) -> f64 {
        (self.entry_us() - self.per_operation_us(self.memtable)).max(0.0)
    }

    fn per_operation_us(&self, spent: Option<Duration>) -> f64 {
        spent.unwrap_or_default().as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// CPU time per operation.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }
}

impl DbBench {
    /// Where it is installed.
    pub fn find() -> Option<DbBench> {
        program::find(NAME).map(|program| DbBench { program })
    }

    /// As it names itself.
    pub fn version(&self) -> String {
        version(&self.program, NAME).unwrap_or_else(|| "unknown".into())
    }

    /// Runs it once in a new directory.
    ///
    /// # Errors
    /// [`BenchError::Rival`] when it fails or prints something else; or the user stops the run.
    pub fn run(&self, session: &Session, call: Call) -> Result<Ran, BenchError> {
        let directory = session.directory("db_bench")?;
        let mut command = Command::new(&self.program);
        command
            .arg("--benchmarks=fillrandom")
            .arg(format!("--db={}", directory.path().join("db").display()))
            .arg(format!("--num={}", call.entries_each))
            .arg(format!("--threads={WRITERS}"))
            .arg(format!("--key_size={}", call.entry.key_bytes))
            .arg(format!("--value_size={}", call.entry.value_bytes))
            .arg(format!("--disable_wal={}", !call.wal))
            .arg(format!("--sync={}", call.sync))
            .arg(format!("--write_buffer_size={WRITE_BUFFER_BYTES}"))
            .arg(format!("--perf_level={}", if call.timed { 3 } else { 1 }))
            .args(["--compression_type=none", "--disable_auto_compactions=true"]);
        let before = cpu::children();
        let printed = child::run(command, directory.path(), &session.interrupt)?;
        let cpu = cpu::children().saturating_sub(before);
        let ran = parse(&printed).ok_or_else(|| BenchError::Rival {
            program: NAME.into(),
            why: format!("no result in what it printed: {printed}"),
        })?;
        Ok(Ran { cpu, ..ran })
    }
}

/// Reads `fillrandom   :      27.390 micros/op 215380 ops/sec 0.557 seconds 120000 operations;`.
fn parse(printed: &str) -> Option<Ran> {
    let line = printed
        .lines()
        .find(|line| line.starts_with("fillrandom"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |unit: &str| {
        let at = words
            .iter()
            .position(|word| word.trim_end_matches(';') == unit)?;
        words.get(at.checked_sub(1)?).copied()
    };
    // With --perf_level, a sum over all threads for each step.
    let spent = |step: &str| {
        let (_, rest) = printed.split_once(&format!("{step} = "))?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().map(Duration::from_nanos)
    };
    Some(Ran {
        wal: spent("write_wal_time"),
        memtable: spent("write_memtable_time"),
        op_us: before("micros/op")?.parse().ok()?,
        operations: before("operations")?.parse().ok()?,
        seconds: before("seconds")?.parse().ok()?,
        cpu: Duration::ZERO,
        assertions: printed.contains("Assertions are enabled"),
    })
}

#[cfg(test)]
#[path = "db_bench_tests.rs"]
mod tests;
