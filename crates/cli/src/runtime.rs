//! The event loop a command runs on.

use std::io::IsTerminal;

use tokio::task::LocalSet;
use tracing_subscriber::filter::{Directive, LevelFilter};

use crate::failure::Failure;

/// Runs a command to its end on this thread.
pub fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot start the event loop: {error}")))?;
    LocalSet::new().block_on(&runtime, command)
}

/// Sends the program's own log to standard error; `DUNLIN_LOG` chooses what is in it. What
/// administrators do always is.
pub fn log_to_stderr(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("DUNLIN_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    let filter = filter.add_directive(audit());
    // A second call finds the first one's subscriber in place, which serves.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Where nobody takes the log, or its disk is full, lines are lost; saying so there would be a panic.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init();
}

/// Lines of the target `audit`, from `info` on.
fn audit() -> Directive {
    "audit=info"
        .parse()
        .unwrap_or_else(|_| LevelFilter::INFO.into())
}
