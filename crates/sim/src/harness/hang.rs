//! A disk that hangs: writes and syncs of logs that begin meanwhile take until it goes on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

/// The disk of one machine. Clones are the same.
#[derive(Clone, Default)]
pub struct Hang(Rc<Cell<Option<Instant>>>);

impl Hang {
    /// It hangs from now on, for so long.
    pub fn begin(&self, lasts: Duration) {
        self.0.set(Some(Instant::now() + lasts));
    }

    /// These delays, and the rest of the hang.
    pub fn added_to<D: Fn() -> Duration>(&self, delays: D) -> impl Fn() -> Duration + use<D> {
        let hang = self.clone();
        move || {
            let until = hang.0.get();
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            delays() + rest.unwrap_or_default()
        }
    }
}
