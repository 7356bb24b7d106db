//! Ctrl-C and SIGTERM end a run through its ordinary error path, so that servers and directories
//! are cleaned up by their owners.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

/// Whether the user asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    set: Arc<AtomicBool>,
}

/// The user asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Interrupt {
    /// Watches the signals from a thread of its own.
    ///
    /// # Errors
    /// When the process cannot watch signals.
    pub fn watch() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let watched = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (mut int, mut term) = {
            let _inside = runtime.enter();
            (
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
            )
        };
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! { _ = int.recv() => {}, _ = term.recv() => {} }
                    watched.set();
                    eprintln!("stopping");
                });
            })?;
        Ok(interrupt)
    }

    /// Asks to stop.
    pub fn set(&self) {
        self.set.store(true, Ordering::Relaxed);
    }

    /// Whether the user asked to stop.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// [`Interrupted`] when the user asked to stop.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_set() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    }

    /// Sleeps, but not through an interrupt.
    ///
    /// # Errors
    /// [`Interrupted`] when the user asked to stop.
    pub fn sleep(&self, duration: Duration) -> Result<(), Interrupted> {
        let end = Instant::now() + duration;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
