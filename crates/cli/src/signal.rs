//! Being asked to stop.

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Resolves at Ctrl-C or SIGTERM. From its first poll on these no longer end the process by
/// themselves; a second one does, for whoever cannot wait.
pub async fn stop() -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::Failed(format!("cannot wait for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tokio::task::spawn_local(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        eprintln!("dunlin: stopped at once; the next start recovers from the log");
        std::process::exit(1);
    });
    Ok(())
}
