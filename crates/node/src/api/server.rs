//! Sockets to requests. hyper speaks HTTP/1.1: keep-alive, `Expect: 100-continue`,
//! and an `Upgrade` it does not know is ignored, as it should be.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_rpc::FailedAccepts;
use dunlin_tls::{ServerConfig, ServerTls};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, EXPECT, HeaderValue};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::access::caller::Caller;
use super::arrival::Watched;
use super::gate::Gate;
use super::handshake::{self, HANDSHAKE_TIME};
use super::linger::linger;
use super::refusal::Refusals;
use super::router;
use super::upgrade::Lent;
use super::upload::{Left, Upload};
use crate::doors::{Doors, Entered};
use crate::limits::STALL;
use crate::shard::{Arrivals, Stalls};

/// What is accepted here, for people.
const WHAT: &str = "an HTTP connection";
/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// An accepted connection on its way to the shard that serves it.
pub(crate) struct Accepted {
    stream: std::net::TcpStream,
    at: Instant,
    /// It came while the event loop that accepts stood still, or may have.
    waited: bool,
    /// Its place among the connections.
    entered: Entered,
}

/// Accepts for all shards of the node; `give` gets a running number and the connection. What came
/// since the socket was `bound` waited for the start.
pub(crate) async fn accept_http(
    listener: std::net::TcpListener,
    bound: Instant,
    stalls: Rc<Stalls>,
    doors: Arc<Doors>,
    tls: Option<Arc<ServerTls>>,
    give: impl Fn(usize, Accepted),
) {
    // Beside tokio's: it asks the kernel itself, so that an answer of none means none.
    let opened = listener
        .try_clone()
        .and_then(|spare| Ok((TcpListener::from_std(listener)?, spare)));
    let (listener, spare) = match opened {
        Ok(both) => both,
        Err(error) => {
            tracing::error!(%error, "HTTP cannot be served");
            return;
        }
    };
    let mut turn = 0;
    let refusals = Refusals::new(doors.clone(), tls);
    let mut give = |stream, waited| {
        let Some(entered) = doors.enter() else {
            return refusals.refuse(stream);
        };
        let accepted = Accepted {
            stream,
            at: Instant::now(),
            waited,
            entered,
        };
        give(turn, accepted);
        turn += 1;
    };
    let mut failed = FailedAccepts::default();
    let mut clear = stalls.observe();
    if bound.elapsed() > STALL
        && let Err(error) = drain(&spare, |stream| give(stream, true))
    {
        failed.pause_after(WHAT, &error).await;
    }
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.and_then(|(s, _)| s.into_std()),
            () = stalls.after(clear) => {
                let count = stalls.observe();
                match drain(&spare, |stream| give(stream, true)) {
                    Ok(()) => clear = count,
                    Err(error) => failed.pause_after(WHAT, &error).await,
                }
                continue;
            }
        };
        match accepted {
            Ok(stream) => {
                failed.passed();
                give(stream, stalls.observe() != clear);
            }
            Err(error) => failed.pause_after(WHAT, &error).await,
        }
    }
}

/// Takes all that waits to be accepted.
fn drain(
    listener: &std::net::TcpListener,
    mut give: impl FnMut(std::net::TcpStream),
) -> std::io::Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                give(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

impl Accepted {
    /// What will be known of its arrivals, from the moment at which its shard takes it.
    pub fn arrivals(&self, stalls: &Rc<Stalls>) -> Rc<Arrivals> {
        // It may have waited for another event loop than the one that accepted it.
        Arrivals::new(stalls.clone(), self.waited || self.at.elapsed() > STALL)
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve_http(accepted: Accepted, arrivals: Rc<Arrivals>, gate: Rc<Gate>) {
    let connection = gate.enter();
    let Accepted {
        stream, entered, ..
    } = accepted;
    let attached = stream
        .set_nodelay(true)
        .and_then(|()| TcpStream::from_std(stream));
    let Ok(stream) = attached else { return };
    let caller = Caller::new(stream.peer_addr().ok());
    let stream = Rc::new(RefCell::new(stream));
    let doors = gate.shard().front().doors.clone();
    let watched = Watched::new(stream.clone(), arrivals.clone(), doors);
    match &gate.shard().config().http_tls {
        None => answer(watched, caller, arrivals, &gate).await,
        Some(tls) => answer_secretly(&stream, watched, tls.get(), caller, arrivals, &gate).await,
    }
    if let Some(stream) = Rc::into_inner(stream) {
        tokio::select! {
            biased;
            () = linger(stream.into_inner()) => {}
            // A stop waits for nobody who has been answered.
            () = gate.closing() => {}
        }
    }
    drop(connection);
    drop(entered);
}

/// Answers over TLS. What is watched is the socket beneath it: when bytes came, and how fast they
/// are taken, does not depend on what they mean.
async fn answer_secretly(
    stream: &RefCell<TcpStream>,
    watched: Watched,
    config: Arc<ServerConfig>,
    caller: Rc<Caller>,
    arrivals: Rc<Arrivals>,
    gate: &Rc<Gate>,
) {
    let shard = gate.shard().clone();
    let counts = &shard.front().doors.handshakes;
    let begin = async {
        let end = Instant::now() + HANDSHAKE_TIME;
        if !handshake::speaks_tls(stream, counts, HANDSHAKE_TIME).await {
            return None;
        }
        let left = end.saturating_duration_since(Instant::now());
        handshake::begin(watched, config, gate.turns(), counts, left).await
    };
    let begun = tokio::select! {
        biased;
        begun = begin => begun,
        // A stop waits for nobody who has not asked for anything.
        () = gate.closing() => None,
    };
    if let Some(stream) = begun {
        answer(stream, caller, arrivals, gate).await;
    }
}

/// Answers requests until there are no more.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    caller: Rc<Caller>,
    arrivals: Rc<Arrivals>,
    gate: &Rc<Gate>,
) {
    let (at_gate, abort) = (gate.clone(), caller.abort().clone());
    let upgrading = caller.upgrading().clone();
    let stream = Lent(Rc::new(RefCell::new(stream)));
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, arrivals, caller) = (at_gate.clone(), arrivals.clone(), caller.clone());
        async move {
            let asks = request.headers().contains_key(EXPECT);
            let (head, body) = request.into_parts();
            let (upload, rest) = Upload::new(body);
            let request = Request::from_parts(head, upload);
            let mut reply = router::route(&gate, &arrivals, &caller, request).await;
            let is_last = rest.settle(asks) == Left::Much;
            // What else waited on it through a stall must not pass for new.
            if is_last || gate.is_announced() || arrivals.has_waited() {
                let close = HeaderValue::from_static("close");
                reply.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, Infallible>(reply)
        }
    });
    let mut serving = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            // Clients that have finished sending still wait for their answers. (hyper's
            // pipeline_flush stays off: it holds answers back while anything of a next request
            // has arrived, and the 400 to a malformed one for ever.)
            .half_close(true)
            .serve_connection(TokioIo::new(stream.again()), service)
    );
    // A flag, as the gate wakes whoever waits for a request: this is asked several times for each.
    let mut is_ending = false;
    let serving = poll_fn(|cx| {
        let served = serving.as_mut().poll(cx);
        if served.is_ready() || is_ending || !gate.is_closing() {
            return served;
        }
        is_ending = true;
        serving.as_mut().graceful_shutdown();
        serving.as_mut().poll(cx)
    });
    let served = tokio::select! {
        biased;
        () = abort.notified() => return,
        served = serving => served,
    };
    match (served, upgrading.take()) {
        (Ok(()), Some(upgrade)) => {
            tokio::select! {
                biased;
                () = abort.notified() => {}
                () = upgrade(Box::new(stream)) => {}
            }
        }
        (Ok(()), None) => {}
        (Err(error), _) => tracing::debug!(%error, "an HTTP connection ended early"),
    }
}
