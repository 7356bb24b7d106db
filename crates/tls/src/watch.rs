//! The thread that looks at files: one for all of a process, so that no connection waits for a disk.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::kept::{Kept, Look};

/// How often it looks.
pub const PERIOD: Duration = Duration::from_secs(2);
/// How often it says again that a certificate ends.
const WARN_PERIOD: Duration = Duration::from_secs(3600);

/// What can be looked at.
pub trait Follows: Send + Sync {
    /// See [`Kept::look`].
    fn look(&self) -> Look;
    /// See [`Kept::warnings`].
    fn warnings(&self, now_s: u64) -> Vec<String>;
    /// See [`Kept::validity`], for people.
    fn until(&self) -> Option<String>;
}

impl<T: Send + Sync> Follows for Kept<T> {
    fn look(&self) -> Look {
        Kept::look(self)
    }

    fn warnings(&self, now_s: u64) -> Vec<String> {
        Kept::warnings(self, now_s)
    }

    fn until(&self) -> Option<String> {
        self.validity().map(|validity| validity.until())
    }
}

/// A thread that follows files until this is dropped.
pub struct Watch {
    /// Dropped, it ends the thread.
    _stop: Sender<()>,
}

impl Watch {
    /// Follows `all`; `now_s` tells the seconds since 1970. Says at once, and every hour, what
    /// [`Kept::warnings`] has to say.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(
        all: Vec<(&'static str, Arc<dyn Follows>)>,
        now_s: impl Fn() -> u64 + Send + 'static,
    ) -> std::io::Result<Watch> {
        let (stop, stopped) = channel::<()>();
        std::thread::Builder::new()
            .name("tls-files".to_owned())
            .spawn(move || {
                let mut rounds = 0_u64;
                loop {
                    if rounds.is_multiple_of(WARN_PERIOD.as_secs() / PERIOD.as_secs()) {
                        for (_, each) in &all {
                            warn(each.as_ref(), now_s());
                        }
                    }
                    rounds += 1;
                    match stopped.recv_timeout(PERIOD) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return,
                    }
                    for (what, each) in &all {
                        follow(what, each.as_ref(), now_s());
                    }
                }
            })?;
        Ok(Watch { _stop: stop })
    }
}

fn follow(what: &str, files: &dyn Follows, now_s: u64) {
    match files.look() {
        Look::Same => {}
        Look::Changed => {
            match files.until() {
                Some(until) => tracing::info!(
                    "TLS of {what}: the files changed and are in use; the certificate is good until {until}"
                ),
                None => tracing::info!("TLS of {what}: the files changed and are in use"),
            }
            warn(files, now_s);
        }
        Look::Failed(line) => tracing::warn!(
            "TLS of {what}: the files changed and are not used, those of before stay in use: {line}"
        ),
    }
}

fn warn(files: &dyn Follows, now_s: u64) {
    for line in files.warnings(now_s) {
        tracing::warn!("{line}");
    }
}
