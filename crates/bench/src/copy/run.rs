//! One copy, measured.

use std::process::Command;
use std::time::Instant;

use serde::Serialize;

use super::rate::Rates;
use super::way::receiver;
use super::{Session, files};
use crate::child;
use crate::cluster::server::Server;
use crate::error::BenchError;
use crate::host::cpu::{self, Machine};
use crate::host::network;
use crate::host::tree::Peak;

/// What one copy took.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// From the start of the sender's process until all is on disk.
    pub duration_s: f64,
    /// The part of it after the sender's process had ended: syncing what it had left unsynced.
    pub sync_s: f64,
    /// Bytes of keys and values a second, over all of it.
    pub bytes_per_s: f64,
    /// The side that reads.
    pub sender: Side,
    /// The side that writes; `None` where one process does both.
    pub receiver: Option<Side>,
    /// Share of the machine's CPU time that neither of them used, 0 to 1: the kernel's threads
    /// that write to the disk, and other programs.
    pub other_cpu_share: f64,
    /// Over time; `None` where nothing went over the loopback.
    pub rates: Option<Rates>,
}

/// What one side took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Side {
    /// User and system time.
    pub cpu_s: f64,
    /// The most memory it had resident, all its processes together.
    pub peak_bytes: u64,
}

/// A copy to be carried out into the session's target.
#[derive(Debug)]
pub struct Transfer {
    /// What is timed.
    pub sender: Command,
    /// Is there already.
    pub receiver: Option<Server>,
    /// Keys and values that are copied.
    pub bytes: u64,
}

impl Transfer {
    /// Carries it out; also what the sender printed.
    ///
    /// # Errors
    /// When the sender fails, the disk refuses, or the user stops the run.
    pub fn carry_out(self, session: &Session) -> Result<(Run, String), BenchError> {
        let receiving = self.receiver.as_ref().map(Server::pid);
        let (mut near, mut far) = (Peak::default(), Peak::default());
        let mut sent = Vec::new();
        let (began, before) = (Instant::now(), Machine::read());
        let mut look_at_network = || {
            if receiving.is_some()
                && let Some(bytes) = network::loopback_bytes()
            {
                sent.push((began.elapsed().as_secs_f64(), bytes));
            }
        };
        let cpu_before = cpu::children();
        let directory = session.scratch.path();
        let ended = child::run_watched(self.sender, directory, &session.interrupt, |pid| {
            look_at_network();
            near.look(pid);
            if let Some(receiving) = receiving {
                far.look(receiving);
            }
        })?;
        look_at_network();
        if let Some(receiving) = receiving {
            far.look(receiving);
        }
        let syncing = Instant::now();
        files::sync(&session.target())?;
        let sync_s = syncing.elapsed().as_secs_f64();
        let duration_s = ended.elapsed.as_secs_f64() + sync_s;
        let (busy, _) = Machine::read().shares_since(&before);
        let cpu_between = cpu::children();
        if let Some(server) = self.receiver {
            receiver::end(server);
        }
        let cpu_after = cpu::children();
        let side = |peak: &Peak, cpu: std::time::Duration| Side {
            cpu_s: cpu.as_secs_f64(),
            peak_bytes: peak.bytes(),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let ours = cpu_after.saturating_sub(cpu_before).as_secs_f64();
        let run = Run {
            duration_s,
            sync_s,
            bytes_per_s: self.bytes as f64 / duration_s,
            sender: side(&near, cpu_between.saturating_sub(cpu_before)),
            receiver: receiving.map(|_| side(&far, cpu_after.saturating_sub(cpu_between))),
            other_cpu_share: (busy - ours / (duration_s * cores as f64)).max(0.0),
            rates: receiving.map(|_| Rates::of(&sent, self.bytes)),
        };
        Ok((run, ended.printed))
    }
}
