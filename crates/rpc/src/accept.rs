//! Reading hellos on one thread and handing each stream to the thread that its hello names.
//!
//! A process listens on one address for all its shards: one task runs [`run`], whose `route` sends
//! `stream.detach()?` to the shard's thread; there it is attached and given to
//! [`crate::serve_accepted`]. A hello that names nothing served here goes to [`refuse`].
use crate::error::AcceptError;
use crate::failed::FailedAccepts;
use crate::guarded;
use crate::hello::{self, Hello, Status};
use crate::transport::{Listener, Stream};
use dunlin_secret::{Guard, Outcome, Refusal, Strangers};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Streams whose hello is awaited at a time. For a further one the oldest gives way: a node says
/// within milliseconds who it is, and a stranger that says nothing must not keep it out.
pub const OPENING_MAX: usize = 32;

/// Reads what a stream opens with within `limit`, and not one byte behind it: a proof where `guard`
/// asks for one, and the hello.
pub async fn read_hello(
    stream: &mut dyn Stream,
    limit: Duration,
    guard: &Guard,
) -> Result<Hello, AcceptError> {
    let opening = async {
        let head = guarded::admit(stream, guard).await?;
        hello::read_rest(stream, head).await
    };
    timeout(limit, opening)
        .await
        .unwrap_or(Err(AcceptError::Timeout))
}

/// Tells the peer that it is not served, why, and `body` (at most 65,535 bytes) beside it.
pub async fn refuse(
    mut stream: Box<dyn Stream>,
    why: Status,
    body: &[u8],
) -> Result<(), AcceptError> {
    hello::answer(&mut *stream, why, body).await
}

/// Accepts streams for as long as it is polled, lets each one open within `limit` and calls
/// `route` with its hello. Must run inside a `LocalSet`. Streams that open badly are counted, told of
/// now and then, and closed.
pub async fn run(
    mut listener: Box<dyn Listener>,
    limit: Duration,
    guard: Arc<Guard>,
    route: impl Fn(Hello, Box<dyn Stream>) + 'static,
) {
    let route = Rc::new(route);
    let opening = Rc::new(Openings::default());
    let mut failed = FailedAccepts::default();
    loop {
        let (mut stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                failed.pause_after("a connection", &error).await;
                continue;
            }
        };
        failed.passed();
        let place = opening.clone().enter();
        let (route, guard) = (route.clone(), guard.clone());
        tokio::task::spawn_local(async move {
            let hello = tokio::select! {
                biased;
                hello = read_hello(&mut *stream, limit, &guard) => hello,
                () = place.gives_way.notified() => Err(AcceptError::Crowded),
            };
            match hello {
                Ok(hello) => route(hello, stream),
                Err(error) => place.openings.tell(&peer, &error, &guard),
            }
        });
    }
}

/// Streams that are opening, the oldest first.
#[derive(Default)]
struct Openings {
    waiting: RefCell<VecDeque<Rc<Notify>>>,
    strangers: RefCell<Strangers>,
}

impl Openings {
    fn enter(self: Rc<Self>) -> Place {
        let gives_way = Rc::new(Notify::new());
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= OPENING_MAX
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.notify_one();
        }
        waiting.push_back(gives_way.clone());
        drop(waiting);
        Place {
            openings: self,
            gives_way,
        }
    }

    /// Counts one that did not open, and tells of it if it is time.
    fn tell(&self, peer: &str, error: &AcceptError, guard: &Guard) {
        let outcome = match error {
            AcceptError::Secret(_, Refusal::Unproven | Refusal::NoSecretHere) => Outcome::Unproven,
            AcceptError::Secret(_, Refusal::WrongHere) => Outcome::Wrong,
            AcceptError::Crowded => Outcome::Crowded,
            _ => Outcome::Strange,
        };
        guard.counts.count(outcome);
        let now = Instant::now().into_std();
        let Some(times) = self.strangers.borrow_mut().came(outcome, now) else {
            return;
        };
        match outcome {
            Outcome::Strange => tracing::info!(peer, times, %error, "a connection did not open"),
            _ => tracing::warn!(peer, times, "a connection was refused: {error}"),
        }
    }
}

/// One stream's place among those that are opening.
struct Place {
    openings: Rc<Openings>,
    gives_way: Rc<Notify>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.openings.waiting.borrow_mut();
        waiting.retain(|other| !Rc::ptr_eq(other, &self.gives_way));
    }
}
