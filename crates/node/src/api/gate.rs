//! The way of clients to a shard: closed for a moment after the start, and at a stop in good order.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hyper::header::HeaderValue;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use super::attempt::TimeHeader;
use super::handshake::Turns;
use crate::limits::{CLOSE_NOTICE, CLOSE_WAIT, STALL};
use crate::services::Services;
use crate::shard::Shard;

/// How often a start looks whether it has come far enough.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// How far a stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Open,
    /// Every answer says that it is the last of its connection.
    Announced,
    /// Connections end once they are idle.
    Closing,
}

/// What stands between a shard's HTTP connections and the shard.
pub(crate) struct Gate {
    services: Rc<Services>,
    patience: Instant,
    is_warm: Cell<bool>,
    stage: watch::Sender<Stage>,
    connections: Cell<usize>,
    left: Notify,
    /// Of handshakes, where it speaks TLS.
    turns: Turns,
    time_header: TimeHeader,
}

impl Gate {
    /// Clients of a start wait for `patience` at most.
    pub fn new(services: Rc<Services>, patience: Duration) -> Gate {
        Gate {
            services,
            patience: Instant::now() + patience,
            is_warm: Cell::new(false),
            stage: watch::Sender::new(Stage::Open),
            connections: Cell::new(0),
            left: Notify::new(),
            turns: Turns::default(),
            time_header: TimeHeader::default(),
        }
    }

    /// Whose clients these are.
    pub fn shard(&self) -> &Rc<Shard> {
        &self.services.shard
    }

    /// The same with its capabilities.
    pub fn services(&self) -> &Rc<Services> {
        &self.services
    }

    /// Whose turn it is with the handshakes of its connections.
    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// What the shard's clock shows, for its answers.
    pub(super) fn time_header(&self) -> HeaderValue {
        self.time_header.at(self.shard().clock().now().millis())
    }

    /// A node answers as soon as the others have been heard, and have filled it if it is new:
    /// usually at once.
    pub async fn whole(&self) {
        while !self.shard().answers() && Instant::now() < self.patience {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// The same for clients: without the other nodes it could only refuse what they ask.
    /// Tells whether that took so long that a client may have gone on elsewhere.
    pub(super) async fn warm(&self) -> bool {
        if self.is_warm.get() || self.shard().was_ready() {
            return false;
        }
        let begun = Instant::now();
        self.whole().await;
        let is_ready = || self.shard().reaches_majority() && self.shard().may_stamp().is_ok();
        while !is_ready() && Instant::now() < self.patience {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        self.is_warm.set(true);
        begun.elapsed() > STALL
    }

    pub(super) fn enter(self: &Rc<Self>) -> Connection {
        self.connections.set(self.connections.get() + 1);
        Connection(self.clone())
    }

    pub(super) fn is_announced(&self) -> bool {
        *self.stage.borrow() >= Stage::Announced
    }

    /// Resolves when a stop is announced.
    #[allow(
        clippy::disallowed_methods,
        reason = "the simulation has no HTTP, and connections end in any order"
    )]
    pub(super) fn announced(&self) -> impl Future<Output = ()> + use<> {
        let mut stage = self.stage.subscribe();
        async move {
            // A gate that is gone is past that.
            drop(stage.wait_for(|stage| *stage >= Stage::Announced).await);
        }
    }

    /// Whether connections are to end. Those that wait for a request are woken then.
    pub(super) fn is_closing(&self) -> bool {
        *self.stage.borrow() == Stage::Closing
    }

    /// Resolves when connections are to end.
    pub(super) async fn closing(&self) {
        let mut stage = self.stage.subscribe();
        // The sender is this gate's own.
        #[allow(
            clippy::disallowed_methods,
            reason = "the simulation has no HTTP, and connections end in any order"
        )]
        drop(stage.wait_for(|stage| *stage == Stage::Closing).await);
    }

    /// Lets requests finish and ends connections, within bounds. Nobody is let in any more by then.
    pub async fn close(&self) {
        self.stage.send_replace(Stage::Announced);
        // Clients that are at work hear it with an answer. Those that are idle are cut off, and
        // what they send at that very moment is lost to them, so it comes second.
        let notice = timeout(CLOSE_NOTICE, self.empty()).await;
        self.stage.send_replace(Stage::Closing);
        self.shard().stalls().wake_connections();
        if notice.is_err() && timeout(CLOSE_WAIT, self.empty()).await.is_err() {
            tracing::warn!(
                connections = self.connections.get(),
                "requests are broken off: they take longer than a stop waits"
            );
        }
    }

    async fn empty(&self) {
        while self.connections.get() > 0 {
            self.left.notified().await;
        }
    }
}

/// A client's connection, for as long as it lasts.
pub(super) struct Connection(Rc<Gate>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
        self.0.left.notify_one();
    }
}
