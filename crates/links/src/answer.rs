//! The next step after an answer of the other cluster to a batch. Pure.

use dunlin_proto::api::{EntriesTaken, LinkState};
use serde::Deserialize;

/// The next step of a sender.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// All of the batch is on a majority there.
    GoOn(EntriesTaken),
    /// The same batch again, in a moment, until its time is over.
    Again(Trouble),
    /// The same batch again, after a report of the link's progress.
    Report(Trouble),
    /// From the committed progress again: nothing of the batch was written.
    Restart(Trouble),
    /// Nothing is sent before somebody has done something, or after a long pause.
    Stop(Trouble),
}

/// Why a link does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Its state.
    pub state: LinkState,
    /// One line: why, and what to do.
    pub line: String,
}

impl Trouble {
    pub fn new(state: LinkState, line: impl Into<String>) -> Trouble {
        Trouble {
            state,
            line: line.into(),
        }
    }

    /// The other cluster cannot be reached, or cannot answer.
    pub fn waiting(line: impl Into<String>) -> Trouble {
        Trouble::new(LinkState::Waiting, line)
    }
}

/// Why a request was refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    pub error: String,
    pub reason: String,
}

impl Refusal {
    /// Out of the body of an answer; empty where that names none.
    pub fn of(body: &[u8]) -> Refusal {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

/// The next step after an answer.
pub(crate) fn next(status: u16, body: &[u8]) -> Next {
    if status == 200 {
        return match serde_json::from_slice(body) {
            Ok(taken) => Next::GoOn(taken),
            Err(error) => Next::Stop(Trouble::waiting(format!(
                "the target does not answer like a Dunlin server: {error}"
            ))),
        };
    }
    let refusal = Refusal::of(body);
    let mut line = format!("the target answers {status}");
    if !refusal.error.is_empty() {
        line = format!("{line}: {}", refusal.error);
    }
    match (status, refusal.reason.as_str()) {
        (408, _) => Next::Restart(Trouble::waiting(line)),
        (409, "home") => Next::Report(Trouble::waiting(line)),
        (409, "clock") => Next::Again(Trouble::new(LinkState::Clock, line)),
        (409, "keyspace") | (404, _) => Next::Stop(Trouble::new(LinkState::TargetGone, line)),
        (409, "dropped") => Next::Stop(Trouble::new(LinkState::Broken, line)),
        (409, "broken") => Next::Stop(Trouble::new(LinkState::Broken, line)),
        (429 | 500..=599, _) => Next::Again(Trouble::waiting(line)),
        _ => Next::Stop(Trouble::waiting(line)),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
