//! The answering side of a stream or a queue.
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dunlin_message::Message;
use tokio::time::{Instant, timeout};

use crate::error::{AcceptError, CallError, ServeError, refusal};
use crate::frame::{FRAME_BYTES_MAX, Frame, FrameError, Kind};
use crate::given_up::Watches;
use crate::hello::{self, Status};
use crate::outbox::Outbox;
use crate::queue::{Inbox, Sent};
use crate::service::{Debt, ROOM_BYTES_MIN, Reply, Room, Service, StreamReply};
use crate::session::{self, Handler, Keepalive, Times};
use crate::stream::OPENING_BYTES_MAX;
use crate::stream::sink::{Sink, Writes};
use crate::stream::writing::{Opened, Writing};
use crate::time_left;
use crate::transport::{Duplex, Stream};
use crate::wire::Wire;

/// Between two looks whether there is room for a request.
const ROOM_PAUSE: Duration = Duration::from_millis(50);

/// Requests of one batch handled before other tasks get a turn.
const REQUESTS_PER_TURN: usize = 256;

/// What one peer may have a shard hold for it. Beyond a limit the connection is not read, so the
/// peer's own queue fills and its calls become `Overloaded`.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests without an answer.
    pub calls: usize,
    /// Bytes of requests without an answer.
    pub request_bytes: usize,
    /// Bytes of responses that the peer has not taken.
    pub response_bytes: usize,
    /// Streams that the peer may have open.
    pub streams: usize,
    /// The longest frame sent or accepted, in bytes.
    pub frame_bytes_max: usize,
    /// How long the hello and its answer may take.
    pub hello_timeout: Duration,
    /// Pings, and when to give up on a silent peer.
    pub keepalive: Keepalive,
}

impl Default for Limits {
    /// 65,536 calls, 64 MiB of requests, 16 MiB of responses, 64 streams.
    fn default() -> Self {
        Self {
            calls: 65_536,
            request_bytes: 64 << 20,
            response_bytes: 16 << 20,
            streams: 64,
            frame_bytes_max: FRAME_BYTES_MAX,
            hello_timeout: Duration::from_secs(5),
            keepalive: Keepalive::default(),
        }
    }
}

/// Serves a fresh stream if `accept` agrees with its hello. Ends with the connection; the result
/// says why, and `Closed` is the usual end.
pub async fn serve_stream<Q: Message, R: Message>(
    mut stream: Box<dyn Stream>,
    service: Rc<dyn Service<Q, R>>,
    accept: impl Fn(&[u8]) -> bool,
    limits: Limits,
) -> ServeError {
    let opening = async {
        let hello = hello::read(&mut *stream).await?;
        if accept(&hello.body) {
            return Ok(());
        }
        hello::answer(&mut *stream, Status::NotServed, b"").await?;
        Err(AcceptError::NotServed)
    };
    match timeout(limits.hello_timeout, opening).await {
        Ok(Ok(())) => serve_accepted(stream, b"", service, limits).await,
        Ok(Err(error)) => error.into(),
        Err(_) => AcceptError::Timeout.into(),
    }
}

/// Accepts a stream whose hello has been read (see [`crate::accept`]), with `body` (at most 65,535
/// bytes) in the answer, and serves it to its end. The result says why it ended, and `Closed` is
/// the usual end.
pub async fn serve_accepted<Q: Message, R: Message>(
    mut stream: Box<dyn Stream>,
    body: &[u8],
    service: Rc<dyn Service<Q, R>>,
    limits: Limits,
) -> ServeError {
    let answer = hello::answer(&mut *stream, Status::Accepted, body);
    match timeout(limits.hello_timeout, answer).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return error.into(),
        Err(_) => return AcceptError::Timeout.into(),
    }
    let end = serve_frames(stream, service, limits).await;
    match &end {
        ServeError::Closed | ServeError::Io(_) => tracing::debug!(%end, "connection ended"),
        _ => tracing::warn!(%end, "connection given up"),
    }
    end
}

/// Serves a stream on which nothing is to be said before the first frame, to its end. The result says why it ended, and
/// `Closed` is the usual end.
pub async fn serve_frames<Q: Message, R: Message>(
    stream: Box<dyn Duplex>,
    service: Rc<dyn Service<Q, R>>,
    limits: Limits,
) -> ServeError {
    let outbox = Rc::new(Outbox::new(limits.frame_bytes_max));
    let _open = Open::new(&outbox);
    let debt = Debt {
        outbox: outbox.clone(),
        calls: Cell::new(0),
        request_bytes: Cell::new(0),
        watches: Rc::default(),
    };
    let debt = Rc::new(debt);
    let _watched = Watched(&debt.watches);
    let writes = Rc::new(Writes {
        writing: RefCell::new(Writing::new(limits.streams)),
        outbox: outbox.clone(),
        item_bytes_max: limits.frame_bytes_max,
    });
    let _writing = Written(&writes);
    let mut requests = Requests {
        debt: debt.clone(),
        writes: writes.clone(),
        service: &*service,
        limits: &limits,
        room: None,
        waits: None,
        response: PhantomData,
    };
    let wire = Wire::new(stream, limits.frame_bytes_max);
    session::run(wire, &outbox, limits.keepalive, &mut requests).await
}

/// Serves a queue until no address and no caller of it is left.
pub async fn serve_inbox<Q: Message, R: Message>(
    inbox: Inbox<Q, R>,
    service: Rc<dyn Service<Q, R>>,
) {
    let mut batch = Vec::new();
    let watches = Rc::<Watches>::default();
    let _watched = Watched(&watches);
    while inbox.take(&mut batch).await {
        let mut now = Instant::now();
        for (handled, sent) in batch.drain(..).enumerate() {
            match sent {
                Sent::Request(request, reply) if time_left::is_over(reply.deadline(), now) => {
                    drop(request);
                    reply.abandon();
                }
                Sent::Request(request, reply) => {
                    service.handle(request, Reply::queue(reply, &watches));
                }
                Sent::Notice(request, _waits) => service.notice(request),
                Sent::Open(request, end) => service.open(request, Sink::near(end)),
                Sent::Cancel(call) => watches.cancel(call),
            }
            if handled % REQUESTS_PER_TURN == REQUESTS_PER_TURN - 1 {
                tokio::task::yield_now().await;
                now = Instant::now();
            }
        }
    }
}

/// The time during which answers are sent.
struct Open<'a>(&'a Outbox);

impl<'a> Open<'a> {
    fn new(outbox: &'a Outbox) -> Self {
        outbox.open();
        Self(outbox)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The time during which anybody waits for answers.
struct Watched<'a>(&'a Watches);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The time during which streams are written.
struct Written<'a>(&'a Writes);

impl Drop for Written<'_> {
    fn drop(&mut self) {
        self.0.writing.borrow_mut().close();
    }
}

/// Brings requests to the service.
struct Requests<'a, Q, R> {
    debt: Rc<Debt>,
    writes: Rc<Writes>,
    service: &'a dyn Service<Q, R>,
    limits: &'a Limits,
    /// Of the frame that arrives.
    room: Option<Room>,
    /// Its bytes, where there is no room for it yet, and when that is tried again.
    waits: Option<(usize, Instant)>,
    response: PhantomData<fn() -> R>,
}

impl<Q: Message, R: Message> Requests<'_, Q, R> {
    fn on_stream(&self, kind: Kind, stream: u64, mut body: Bytes) -> Result<(), FrameError> {
        let breach = |why| FrameError::Stream { stream, why };
        let writing = &self.writes.writing;
        if kind == Kind::Stop {
            let is_open = writing.borrow_mut().stop(stream).map_err(breach)?;
            if is_open {
                self.writes.push_end(stream, &Ok(()));
            }
            return Ok(());
        }
        let credit = body.try_get_u32_le();
        let credit = credit.map_err(|_| FrameError::Body(kind as u8))? as usize;
        if kind == Kind::Credit {
            return writing.borrow_mut().credit(stream, credit).map_err(breach);
        }
        let opened = writing.borrow_mut().open(stream, credit);
        let sink = match opened.map_err(breach)? {
            Opened::Yes(gone) => Sink::line(&self.writes, stream, gone),
            Opened::TooMany => {
                let ending = CallError::Refused {
                    code: refusal::TOO_MANY_STREAMS,
                    text: format!("there are {} streams open", self.limits.streams),
                };
                self.writes.push_end(stream, &Err(ending));
                return Ok(());
            }
        };
        if body.len() > OPENING_BYTES_MAX {
            sink.refuse(refusal::TOO_LARGE, "the request for a stream is too large");
            return Ok(());
        }
        match Q::decode(body) {
            Ok(request) => self.service.open(request, sink),
            Err(error) => sink.refuse(refusal::UNDECODABLE, &error.to_string()),
        }
        Ok(())
    }
}

impl<Q: Message, R: Message> Handler for Requests<'_, Q, R> {
    fn on_part(&mut self, bytes: usize) {
        if bytes <= ROOM_BYTES_MIN || self.room.is_some() || self.waits.is_some() {
            return;
        }
        self.room = self.service.room(bytes);
        if self.room.is_none() {
            self.waits = Some((bytes, Instant::now() + ROOM_PAUSE));
        }
    }

    fn on_frame(&mut self, frame: Frame, times: Times) -> Result<(), FrameError> {
        // From here on the service counts it.
        self.room = None;
        let mut body = frame.body;
        let deadline = match frame.kind {
            Kind::Request => {
                let left_ms = body.try_get_u32_le();
                let left_ms = left_ms.map_err(|_| FrameError::Body(frame.kind as u8))?;
                let deadline = time_left::deadline(left_ms, times.received);
                if time_left::is_over(deadline, times.now) {
                    tracing::debug!(left_ms, "a call came too late to be answered");
                    return Ok(());
                }
                deadline
            }
            Kind::Cancel => {
                self.debt.watches.cancel((0, frame.call));
                return Ok(());
            }
            Kind::Notice => {
                match Q::decode(body) {
                    Ok(request) => self.service.notice(request),
                    Err(error) => tracing::warn!(%error, "a notice was left out"),
                }
                return Ok(());
            }
            Kind::Open | Kind::Credit | Kind::Stop => {
                return self.on_stream(frame.kind, frame.call, body);
            }
            kind => return Err(FrameError::Kind(kind as u8)),
        };
        let reply = StreamReply::new(&self.debt, frame.call, body.len(), deadline);
        match Q::decode(body) {
            Ok(request) => self.service.handle(request, Reply::stream(reply)),
            Err(error) => {
                tracing::warn!(%error, "a request was refused");
                reply.refuse(refusal::UNDECODABLE, &error.to_string());
            }
        }
        Ok(())
    }

    fn may_read(&self) -> bool {
        self.waits.is_none()
            && self.debt.calls.get() < self.limits.calls
            && self.debt.request_bytes.get() < self.limits.request_bytes
            && self.debt.outbox.queued_bytes() < self.limits.response_bytes
    }

    fn push_more(&mut self) -> bool {
        self.writes.push_next()
    }

    fn has_more(&self) -> bool {
        self.writes.writing.borrow().has_turns()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.waits.map(|(_, again)| again)
    }

    fn on_time(&mut self, now: Instant) {
        if let Some((bytes, _)) = self.waits.take_if(|(_, again)| *again <= now) {
            self.on_part(bytes);
        }
    }

    fn count(&mut self, _received_bytes: usize, _sent_bytes: usize) {}
}
