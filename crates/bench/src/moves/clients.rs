//! The clients' thread: load at a constant rate until it is told to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ledger::Ledger;
use super::plan::Plan;
use super::workload::Mixed;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::load::generator::{self, Answered, LoadError, Pace};
use crate::load::outcome::Outcome;

/// Longer than any run; it ends when it is told to.
const DURATION: Duration = Duration::from_secs(24 * 3_600);

/// Clients at work; dropping them ends them.
#[derive(Debug)]
pub struct Clients {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Heard, LoadError>>>,
    began: Instant,
}

/// What clients heard.
#[derive(Debug)]
pub struct Heard {
    /// Every request.
    pub answers: Vec<Answered>,
    /// Failures, in words.
    pub outcome: Outcome,
    /// What the keys must hold now.
    pub ledger: Ledger,
}

impl Clients {
    /// Starts them.
    ///
    /// # Errors
    /// When they cannot connect.
    pub fn start(
        plan: &Plan,
        addresses: &[SocketAddr],
        ledger: Ledger,
        interrupt: &Interrupt,
    ) -> Result<Clients, BenchError> {
        let is_over = Arc::new(AtomicBool::new(false));
        let value_bytes = usize::try_from(plan.value_bytes).unwrap_or(usize::MAX);
        let mut workload = Mixed::new(ledger, value_bytes, plan.keys, is_over.clone());
        let load = generator::Plan {
            addresses: addresses.to_owned(),
            connections: plan.connections,
            pace: Pace::Rate(plan.rate_per_s),
            warmup: Duration::ZERO,
            duration: DURATION,
        };
        let interrupt = interrupt.clone();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("clients".into())
            .spawn(move || {
                let mut answers = Vec::new();
                let outcome = generator::follow(
                    &load,
                    &mut workload,
                    &interrupt,
                    // The first edge is the beginning; of the second nobody waits to hear.
                    &mut |_| tell.send(Instant::now()).unwrap_or_default(),
                    &mut |answered| answers.push(answered),
                )?;
                Ok(Heard {
                    answers,
                    outcome,
                    ledger: workload.into_ledger(),
                })
            })?;
        let mut clients = Clients {
            is_over,
            thread: Some(thread),
            began: Instant::now(),
        };
        match told.recv() {
            Ok(began) => clients.began = began,
            // They ended before they began.
            Err(_) => drop(clients.join()?),
        }
        Ok(clients)
    }

    /// When the first request was meant to start.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Whether they are still at work.
    ///
    /// # Errors
    /// Why they are not.
    pub fn check(&mut self) -> Result<(), BenchError> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join().map(drop)
        } else {
            Ok(())
        }
    }

    /// Ends them, and waits for their last answers.
    ///
    /// # Errors
    /// When they could not go on.
    pub fn end(mut self) -> Result<Heard, BenchError> {
        self.is_over.store(true, Ordering::Relaxed);
        self.join()
    }

    fn join(&mut self) -> Result<Heard, BenchError> {
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(heard)) => Ok(heard?),
            _ => Err(BenchError::Members("the clients broke off".into())),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whoever drops them has a failure of their own to tell.
            let _ = thread.join();
        }
    }
}
