//! A second connection to another shard, for pages of stored records and of logs: on the first one a
//! put or an acknowledgement would wait behind them. It is made when there is something for it, and goes
//! when there was nothing for a while. Decision 44.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use dunlin_proto::{Request, Response};
use dunlin_rpc::{CallError, Caller, CallerStats};
use tokio::time::{Instant, sleep};

use super::Peer;
use crate::limits::{ASIDE_IDLE, ASIDE_LOOK, ASIDE_WAIT};

/// Makes the connection; what the peer answers to its hello is put into the cell. `None` when the shard is gone.
type Dial = Box<dyn Fn(&Rc<Cell<Option<u32>>>) -> Option<Caller<Request, Response>>>;

/// The second connection to a peer.
pub(crate) struct Aside {
    /// None within the process, where nothing waits for bytes.
    dial: Option<Dial>,
    open: RefCell<Option<Caller<Request, Response>>>,
    /// The incarnation that has answered it.
    answered: Rc<Cell<Option<u32>>>,
    used: Cell<Instant>,
}

/// How the second connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is none for this peer.
    Never,
    Up,
    /// It may be there in a moment.
    Coming,
    /// An attempt has failed.
    Down,
}

/// Which way a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    First,
    Second,
    /// The second, once it is there.
    Wait,
}

/// A page goes the first way where the second cannot be had, also to say that there is no connection at
/// all: that the peer is down is seen by the first one alone.
fn way(is_first_up: bool, second: State) -> Way {
    match (is_first_up, second) {
        (false, _) | (_, State::Never | State::Down) => Way::First,
        (true, State::Up) => Way::Second,
        (true, State::Coming) => Way::Wait,
    }
}

impl Aside {
    /// To be made with `dial`, if ever.
    pub fn new(dial: Option<Dial>) -> Aside {
        Aside {
            dial,
            open: RefCell::default(),
            answered: Rc::default(),
            used: Cell::new(Instant::now()),
        }
    }

    fn caller(&self) -> Option<Caller<Request, Response>> {
        let dial = self.dial.as_ref()?;
        self.used.set(Instant::now());
        let mut open = self.open.borrow_mut();
        if open.is_none() {
            *open = dial(&self.answered);
        }
        open.clone()
    }

    /// A later start of the peer is known: what answered before is given up.
    pub fn learned(&self, incarnation: u32) {
        if let Some(caller) = &*self.open.borrow()
            && caller.is_connected()
            && self.answered.get().is_none_or(|of| of < incarnation)
        {
            caller.redial();
        }
    }

    /// Lets the connection go when nothing was asked over it for long. What is under way keeps it.
    pub fn close_idle(&self, now: Instant) {
        let idle = now.saturating_duration_since(self.used.get());
        if idle >= ASIDE_IDLE {
            drop(self.open.take());
        }
    }

    /// What it has done; nothing where there is none.
    pub fn stats(&self) -> CallerStats {
        let open = self.open.borrow();
        open.as_ref().map(Caller::stats).unwrap_or_default()
    }
}

fn state(second: Option<&Caller<Request, Response>>) -> State {
    match second {
        None => State::Never,
        Some(caller) if caller.is_connected() => State::Up,
        Some(caller) if caller.has_failed() => State::Down,
        Some(_) => State::Coming,
    }
}

impl Peer {
    /// Asks for a page: not before puts and acknowledgements, but beside them.
    pub(crate) async fn call_aside(
        &self,
        request: Request,
        timeout: Duration,
    ) -> Result<Response, CallError> {
        let second = match self.caller.is_connected() {
            true => self.aside.caller(),
            false => None,
        };
        let begun = Instant::now();
        let caller = loop {
            match (
                way(self.caller.is_connected(), state(second.as_ref())),
                &second,
            ) {
                (Way::Second, Some(second)) => break second,
                (Way::Wait, _) if begun.elapsed() < ASIDE_WAIT => sleep(ASIDE_LOOK).await,
                _ => break &self.caller,
            }
        };
        let call = caller.call(request, timeout);
        let answer = call.await;
        self.aside.used.set(Instant::now());
        answer
    }

    /// What was sent, received and waits, over both connections.
    pub(crate) fn stats(&self) -> CallerStats {
        let (first, second) = (self.caller.stats(), self.aside.stats());
        CallerStats {
            sent_bytes: first.sent_bytes + second.sent_bytes,
            received_bytes: first.received_bytes + second.received_bytes,
            queued_bytes: first.queued_bytes + second.queued_bytes,
            outstanding: first.outstanding + second.outstanding,
            reconnects: first.reconnects,
        }
    }
}

#[cfg(test)]
#[path = "aside_tests.rs"]
mod tests;
