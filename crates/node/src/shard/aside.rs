//! A second connection to another shard, for pages of stored records and of logs: on the first one a
//! put or an acknowledgement would wait behind them. It is made when there is something for it, and goes
//! when there was nothing for a while. Decision 44.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use dunlin_proto::{Request, Response};
use dunlin_rpc::{CallError, Caller, CallerStats, Items};
use tokio::time::{Instant, sleep, timeout};

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
    /// Held by whoever reads a stream.
    streams: Rc<()>,
}

/// A stream over the second connection, which stays for it.
pub(crate) struct AsideItems {
    items: Items<Response>,
    held: Rc<()>,
}

impl AsideItems {
    /// The next item, if it comes in time.
    pub async fn next(&mut self, within: Duration) -> Option<Result<Response, CallError>> {
        let late = Err(CallError::Timeout(within));
        timeout(within, self.items.next())
            .await
            .unwrap_or(Some(late))
    }

    /// The items, and what keeps the connection.
    pub fn into_parts(self) -> (Items<Response>, Rc<()>) {
        (self.items, self.held)
    }

    /// Wants no more than is on its way.
    pub fn finish(&mut self) {
        self.items.finish();
    }
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
            streams: Rc::new(()),
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
        // Without it the connection of a stream could not be made anew when a later start is known.
        if idle >= ASIDE_IDLE && Rc::strong_count(&self.streams) == 1 {
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
        let call = self.caller_aside().await.call(request, timeout);
        let answer = call.await;
        self.aside.used.set(Instant::now());
        answer
    }

    /// The same for a stream, of which so many bytes may be on their way.
    pub(crate) async fn stream_aside(&self, request: Request, window_bytes: usize) -> AsideItems {
        let caller = self.caller_aside().await;
        AsideItems {
            items: caller.stream(request, window_bytes),
            held: self.aside.streams.clone(),
        }
    }

    async fn caller_aside(&self) -> Caller<Request, Response> {
        let second = if self.caller.is_connected() {
            self.aside.caller()
        } else {
            None
        };
        let begun = Instant::now();
        loop {
            let is_first_up = self.caller.is_connected();
            match (way(is_first_up, state(second.as_ref())), &second) {
                (Way::Second, Some(second)) => return second.clone(),
                (Way::Wait, _) if begun.elapsed() < ASIDE_WAIT => sleep(ASIDE_LOOK).await,
                _ => return self.caller.clone(),
            }
        }
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
