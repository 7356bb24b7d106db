//! Connections that have not said who they are: so many at a time, and those that fail are told of now
//! and then.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dunlin_secret::{Outcome, Refusal, Strangers};

use crate::CopyError;

/// So many at a time. For a further one the oldest gives way: a sender says at once who it is, and a
/// stranger that says nothing must not keep it out.
pub(crate) const OPENING_MAX: usize = 32;

/// Those of one receiver.
#[derive(Default)]
pub(crate) struct Opening {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entered: u64,
    /// The oldest first.
    waiting: VecDeque<(u64, TcpStream)>,
    strangers: Strangers,
}

impl Opening {
    /// Takes one in, and closes the oldest where there are too many. The number is for `leave`.
    ///
    /// # Errors
    /// When the process is out of descriptors.
    pub(crate) fn enter(&self, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut state = self.state();
        if state.waiting.len() >= OPENING_MAX
            && let Some((_, oldest)) = state.waiting.pop_front()
        {
            // Gone already, perhaps.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        state.entered += 1;
        let number = state.entered;
        state.waiting.push_back((number, stream));
        Ok(number)
    }

    /// One has opened, or has not. `false`: it had to give way.
    pub(crate) fn leave(&self, number: u64) -> bool {
        let mut state = self.state();
        let held = state.waiting.len();
        state.waiting.retain(|(other, _)| *other != number);
        state.waiting.len() < held
    }

    /// The line about one that did not open, if it is time for one.
    pub(crate) fn line(&self, error: &CopyError, gave_way: bool) -> Option<String> {
        let outcome = match error {
            _ if gave_way => Outcome::Crowded,
            CopyError::Untrusted { refusal, .. } => match refusal {
                Refusal::WrongHere => Outcome::Wrong,
                _ => Outcome::Unproven,
            },
            _ => Outcome::Strange,
        };
        let times = self.state().strangers.came(outcome, Instant::now())?;
        let line = if gave_way {
            format!(
                "{OPENING_MAX} connections have not said who they are: the oldest was closed for a new one"
            )
        } else {
            error.to_string()
        };
        Some(match times {
            1 => line,
            _ => format!("{line} ({times} times since the last such line)"),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
