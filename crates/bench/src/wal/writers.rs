//! Writers on Dunlin's log, each a task that appends its next entry when the last one is written
//! (or synced): what accumulates meanwhile makes the next group, as in the store.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_log::disk::{Disk, RealDisk};
use dunlin_log::{Log, Options, Recovered, Runner, Stats};
use rustix::time::{ClockId, clock_gettime};
use tokio::task::{JoinHandle, LocalSet};

use super::entry::Source;
use crate::error::BenchError;
use crate::interrupt::{Interrupt, Interrupted};

/// Writers of the paper's grid.
pub const WRITERS: u64 = 6;

/// What some writers did.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    /// Entries.
    pub entries: u64,
    /// From the first append to the last answer.
    pub elapsed: Duration,
    /// CPU time of this process meanwhile: log, writers and the making of entries.
    pub cpu: Duration,
    /// From append to answer, on average.
    pub latency_us_mean: f64,
}

impl Written {
    /// Entries per second.
    pub fn entries_per_s(&self) -> f64 {
        self.entries as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// CPU per entry.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.entries.max(1) as f64
    }
}

/// What the writers do.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Entries of all writers together.
    pub entries: u64,
    /// How many there are.
    pub writers: u64,
    /// Whether each waits for its entry to be synced, instead of written.
    pub sync: bool,
    /// Whether segments are let go as soon as they are full, so that their files are used again.
    pub release: bool,
}

/// Runs a future that uses a log on an event loop of its own, as a shard does.
///
/// # Errors
/// The future's, or when there is no event loop to be had.
pub fn on_event_loop<T>(
    future: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, future)
}

/// An open log with its commit loop.
pub struct Driven {
    /// The log.
    pub log: Log,
    driving: JoinHandle<()>,
}

impl Driven {
    /// Opens a log on the real disk, and tells what was found and how long opening took.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open(
        directory: &Path,
        options: Options,
    ) -> Result<(Driven, Recovered, Duration), BenchError> {
        let runner = Runner::thread("log")?;
        Driven::open_on(Arc::new(RealDisk), runner, directory, options).await
    }

    /// The same on any disk.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open_on(
        disk: Arc<dyn Disk>,
        runner: Runner,
        directory: &Path,
        options: Options,
    ) -> Result<(Driven, Recovered, Duration), BenchError> {
        let begun = Instant::now();
        let (log, recovered) = Log::open(disk, runner, directory, options).await?;
        let took = begun.elapsed();
        let driving = tokio::task::spawn_local({
            let log = log.clone();
            async move { log.drive().await }
        });
        Ok((Driven { log, driving }, recovered, took))
    }

    /// Begins the first segment with an empty preamble and waits for it.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn begin(&self) -> Result<(), BenchError> {
        let index = self.log.rotate(Bytes::new())?;
        Ok(self.log.wait_written(index).await?)
    }

    /// Carries out a load. Every entry has been answered for when this returns.
    ///
    /// # Errors
    /// When the log cannot be written, or the user stops the run.
    pub async fn write(
        &self,
        load: Load,
        source: &Source,
        interrupt: &Interrupt,
    ) -> Result<Written, BenchError> {
        let (cpu, begun) = (cpu_time(), Instant::now());
        let tasks: Vec<_> = (0..load.writers)
            .map(|writer| {
                let share =
                    load.entries / load.writers + u64::from(writer < load.entries % load.writers);
                let writer = Writer {
                    log: self.log.clone(),
                    load,
                    source: source.fork(writer),
                    interrupt: interrupt.clone(),
                };
                tokio::task::spawn_local(writer.run(share))
            })
            .collect();
        let mut waited_s = 0.0;
        for task in tasks {
            let ended = task
                .await
                .map_err(|error| BenchError::System(error.into()))?;
            waited_s += ended?.as_secs_f64();
        }
        Ok(Written {
            entries: load.entries,
            elapsed: begun.elapsed(),
            cpu: cpu_time().saturating_sub(cpu),
            latency_us_mean: waited_s * 1e6 / load.entries.max(1) as f64,
        })
    }

    /// What the log counted.
    pub fn stats(&self) -> Stats {
        self.log.stats()
    }

    /// Syncs and closes the log.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn close(self) -> Result<(), BenchError> {
        self.log.close().await?;
        // It ends with the log; that it has panicked would have shown as a failure of the log.
        let _ = self.driving.await;
        Ok(())
    }

    /// Leaves the log as a crash of the process would.
    pub fn abandon(self) {
        self.driving.abort();
    }
}

struct Writer {
    log: Log,
    load: Load,
    source: Source,
    interrupt: Interrupt,
}

impl Writer {
    /// The time waited for answers.
    async fn run(mut self, entries: u64) -> Result<Duration, BenchError> {
        let mut waited = Duration::ZERO;
        for _ in 0..entries {
            if self.interrupt.is_set() {
                return Err(Interrupted.into());
            }
            let payload = self.source.next_payload();
            let begun = Instant::now();
            if self.log.should_rotate() {
                let index = self.log.rotate(Bytes::new())?;
                if self.load.release {
                    self.log.release(index);
                }
            }
            let index = self.log.append(payload, self.load.sync)?;
            if self.load.sync {
                self.log.wait_synced(index).await?;
            } else {
                self.log.wait_written(index).await?;
            }
            waited += begun.elapsed();
        }
        Ok(waited)
    }
}

/// CPU time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// Settings of a log whose only segment holds `bytes`, so that nothing but records is in it.
pub fn one_segment(block_bytes: u32, policy: super::layout::Policy, bytes: u64) -> Options {
    Options {
        block_size_bytes: block_bytes,
        padding: policy.padding(),
        segment_bytes: bytes + 4 * u64::from(block_bytes),
        spare_segments: 0,
        ..Options::default()
    }
}
