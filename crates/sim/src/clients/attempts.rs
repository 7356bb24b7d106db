//! One wish, asked of one node after another until it is answered, as `crates/client` does.

use std::time::Duration;

use dunlin_rpc::CallError;

use super::Nodes;
use crate::harness::ask::{Ask, Told};
use crate::harness::clock::SimClock;
use dunlin_node::Clock;

/// What became of one attempt.
pub enum Attempt {
    /// An answer that ends it all.
    Answered(Told),
    /// It was not sent: there is no connection.
    NotSent,
    /// It may have been carried out, or may yet be.
    GivenUp(String),
}

/// The attempts at one wish.
pub struct Attempts<'a> {
    pub nodes: &'a Nodes,
    pub clock: &'a SimClock,
    /// Whether attempts carry deadlines: those of a client of ours do.
    pub deadlines: bool,
    /// The latest deadline of those given up.
    after_ms: Option<u64>,
}

impl<'a> Attempts<'a> {
    pub fn new(nodes: &'a Nodes, clock: &'a SimClock, deadlines: bool) -> Attempts<'a> {
        Attempts {
            nodes,
            clock,
            deadlines,
            after_ms: None,
        }
    }

    /// Asks the node `host`, for at most `timeout_ms`.
    pub async fn at(&mut self, host: usize, mut ask: Ask, timeout_ms: u64) -> Attempt {
        let deadline_ms = self.clock.now_ms() + timeout_ms;
        if self.deadlines {
            ask.deadline_ms = Some(deadline_ms);
            ask.after_ms = self.after_ms;
        }
        let call = self.nodes[host].call(ask, Duration::from_millis(timeout_ms));
        let given_up = match call.await {
            Ok(Told::Failed(text)) => text,
            Ok(told) => return Attempt::Answered(told),
            Err(CallError::Overloaded | CallError::TooLarge { .. }) => return Attempt::NotSent,
            Err(error) => error.to_string(),
        };
        // A call that finds no connection fails at once like one whose connection broke: it is
        // taken for sent, which costs nothing but a later stamp.
        self.after_ms = self.after_ms.max(Some(deadline_ms));
        Attempt::GivenUp(given_up)
    }
}
