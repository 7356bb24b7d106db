//! Being asked to stop.

use std::io::Write;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// Ctrl-C and SIGTERM. The first asks for a clean stop; the second, while work that should not be
/// broken off is under way, ends the process at once, for whoever cannot wait.
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
    was_asked: bool,
}

impl Stop {
    /// From here on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// When the system refuses the handlers.
    pub fn listen() -> Result<Stop, Failure> {
        let failed =
            |error: std::io::Error| Failure::Failed(format!("cannot wait for signals: {error}"));
        Ok(Stop {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            was_asked: false,
        })
    }

    /// Resolves once the process was asked to stop, before this call or during it.
    pub async fn asked(&mut self) {
        if !self.was_asked {
            self.signal().await;
            self.was_asked = true;
        }
    }

    /// Does `work` to its end, unless asked to stop for a second time.
    pub async fn finish<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.signal() => {}
            }
            if self.was_asked {
                let line = "dunlin: stopped at once; the next start recovers from the log";
                let _ = writeln!(std::io::stderr(), "{line}");
                std::process::exit(1);
            }
            self.was_asked = true;
        }
    }

    async fn signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
