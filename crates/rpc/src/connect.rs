//! The calling side of a connection, kept up for ever by one background task.
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use dunlin_message::Message;
use dunlin_secret::{Door, Guard, Opens, Refusal, falls_back, opens};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::backoff::Backoff;
use crate::call::{Call, Owner};
use crate::caller::{Caller, CallerStats, Path};
use crate::error::{AcceptError, CallError, ServeError};
use crate::frame::{FRAME_BYTES_MAX, Frame, FrameError, Kind};
use crate::guarded;
use crate::hello;
use crate::outage::Outage;
use crate::outbox::Outbox;
use crate::pending::Pending;
use crate::service::refusal_from;
use crate::session::{self, Handler, Keepalive, Times};
use crate::stream::items::{Items, Reads};
use crate::stream::{WINDOW_BYTES_MAX, WINDOW_BYTES_MIN, get_ending};
use crate::time_left;
use crate::transport::{Duplex, Stream, Transport};
use crate::wire::Wire;

/// How a connection is kept and what may wait on it.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Bytes that may wait to be written before calls are `Overloaded`. Into an empty queue even
    /// a larger request goes.
    pub queue_bytes: usize,
    /// Calls that may be without an answer before calls are `Overloaded`.
    pub outstanding_max: usize,
    /// The first wait before connecting again; doubled each time.
    pub backoff_min: Duration,
    /// The longest wait before connecting again.
    pub backoff_max: Duration,
    /// Makes the waits of different callers differ, and those of the same seed the same.
    pub seed: u64,
    /// How long connecting, hello and answer included, may take.
    pub connect_timeout: Duration,
    /// Pings, and when to give up on a silent peer.
    pub keepalive: Keepalive,
    /// The longest frame sent or accepted, in bytes.
    pub frame_bytes_max: usize,
    /// Which secret is proven before a hello, if any.
    pub guard: Arc<Guard>,
}

impl Default for ConnectOptions {
    /// 16 MiB queued, 65,536 calls, reconnecting after 20 ms to 1 s, seed 0, no secret.
    fn default() -> Self {
        Self {
            queue_bytes: 16 << 20,
            outstanding_max: 65_536,
            backoff_min: Duration::from_millis(20),
            backoff_max: Duration::from_secs(1),
            seed: 0,
            connect_timeout: Duration::from_secs(3),
            keepalive: Keepalive::default(),
            frame_bytes_max: FRAME_BYTES_MAX,
            guard: Guard::off(Door::Peer),
        }
    }
}

/// A connection that broke so lately is likely to be back at once.
const FRESH: Duration = Duration::from_secs(1);

/// What opens connections of one caller. Asked at every attempt, so that a hello says what is known
/// by then. Plain bytes are one that always says the same.
pub trait Opening {
    /// What to say, at most 65,535 bytes.
    fn hello(&self) -> Bytes;

    /// The peer accepts, and says `body`; false gives the connection up.
    fn is_welcome(&self, body: &[u8]) -> bool {
        let _ = body;
        true
    }

    /// The peer says that another has taken this one's place.
    fn superseded(&self, body: &[u8]) {
        let _ = body;
    }
}

impl Opening for Bytes {
    fn hello(&self) -> Bytes {
        self.clone()
    }
}

/// A caller of whatever the hellos of `opening` name at `addr`. Returns at once; a background task on this
/// thread's `LocalSet` connects, and connects again whenever the connection breaks. While
/// it is down, calls fail at once with `Disconnected`.
pub fn connect<Q: Message, R: Message>(
    transport: Arc<dyn Transport>,
    addr: impl Into<String>,
    opening: impl Opening + 'static,
    options: ConnectOptions,
) -> Caller<Q, R> {
    let (link, shared) = link(&options);
    let (pending, stop) = (link.owner.pending.clone(), link.owner.stop.clone());
    let keeper = Keeper {
        transport,
        addr: addr.into(),
        opening: Box::new(opening),
        options,
        shared,
        pending,
    };
    tokio::task::spawn_local(async move {
        tokio::select! {
            biased;
            () = stop.notified() => {}
            never = keeper.keep() => match never {},
        }
    });
    Caller::new(Path::Link(Rc::new(link)))
}

/// The callers' end of a connection that is not there yet, and what it shares with its background task.
fn link<R>(options: &ConnectOptions) -> (Link<R>, Rc<Shared>) {
    let outbox = Rc::new(Outbox::new(options.frame_bytes_max));
    let shared = Rc::new(Shared {
        reads: Rc::new(Reads {
            reading: RefCell::default(),
            outbox: outbox.clone(),
            item_bytes_max: options.frame_bytes_max,
        }),
        outbox,
        connected: Notify::new(),
        retry: Notify::new(),
        give_up: Notify::new(),
        is_called_for: Cell::new(false),
        has_failed: Cell::new(false),
        distrust: Cell::new(None),
        down_since: Cell::new(Instant::now()),
        connects: Cell::new(0),
        sent_bytes: Cell::new(0),
        received_bytes: Cell::new(0),
    });
    let cancels = shared.clone();
    let owner = Rc::new(Owner {
        pending: Rc::new(Pending::default()),
        stop: Rc::new(Notify::new()),
        cancel: Box::new(move |call| cancels.cancel(call)),
    });
    let link = Link {
        shared: shared.clone(),
        queue_bytes: options.queue_bytes,
        outstanding_max: options.outstanding_max,
        owner,
    };
    (link, shared)
}

/// A caller over a stream on which nothing is to be said before the first frame. It is connected when this returns; when
/// the stream ends its calls fail with `Disconnected`, and it is not connected again. Its background task runs on this
/// thread's `LocalSet`.
pub fn attach<Q: Message, R: Message>(
    stream: Box<dyn Duplex>,
    options: &ConnectOptions,
) -> Caller<Q, R> {
    let (link, shared) = link(options);
    let (pending, stop) = (link.owner.pending.clone(), link.owner.stop.clone());
    let (wire, keepalive) = (
        Wire::new(stream, options.frame_bytes_max),
        options.keepalive,
    );
    let open = Open::new(&shared, &pending);
    tokio::task::spawn_local(async move {
        tokio::select! {
            biased;
            () = stop.notified() => {}
            end = open.run(wire, keepalive) => tracing::debug!(%end, "connection ended"),
        }
    });
    Caller::new(Path::Link(Rc::new(link)))
}

/// Says a hello at `addr`, hears the answer, and hangs up: whether somebody is there, and who.
///
/// # Errors
/// When nobody answers within `time`, or the hello is refused.
pub async fn knock(
    transport: &dyn Transport,
    addr: &str,
    hello: &[u8],
    guard: &Guard,
    time: Duration,
) -> Result<Bytes, AcceptError> {
    let knocking = async {
        let (mut stream, _) = reach(transport, addr, guard).await?;
        hello::open(&mut *stream, hello).await
    };
    timeout(time, knocking)
        .await
        .unwrap_or(Err(AcceptError::Timeout))
}

/// A stream on which a hello may be said, and why nothing was proven on it although this side
/// could.
async fn reach(
    transport: &dyn Transport,
    addr: &str,
    guard: &Guard,
) -> Result<(Box<dyn Stream>, Option<Refusal>), AcceptError> {
    let mut stream = transport.connect(addr).await?;
    if opens(guard.mode()) == Opens::Plainly {
        return Ok((stream, None));
    }
    match guarded::prove(&mut *stream, guard).await {
        Ok(()) => Ok((stream, None)),
        Err(AcceptError::Secret(_, refusal)) if falls_back(guard.mode(), refusal) => {
            let stream = transport.connect(addr).await?;
            Ok((stream, Some(refusal)))
        }
        Err(error) => Err(error),
    }
}

/// What callers and the background task share.
struct Shared {
    outbox: Rc<Outbox>,
    reads: Rc<Reads>,
    connected: Notify,
    /// Ends the wait for the next attempt.
    retry: Notify,
    /// Ends the connection.
    give_up: Notify,
    /// Whether the attempt under way, or about to be, was asked for by `retry_now`.
    is_called_for: Cell<bool>,
    /// Whether an attempt has failed since there was a connection.
    has_failed: Cell<bool>,
    /// Why the last attempt found no trust: there is no connection, or one without a proof.
    distrust: Cell<Option<Refusal>>,
    /// When there last was a connection, or the caller began.
    down_since: Cell<Instant>,
    connects: Cell<u64>,
    sent_bytes: Cell<u64>,
    received_bytes: Cell<u64>,
}

impl Shared {
    /// Tells the peer that nobody waits for a call, if there is a peer that listens.
    fn cancel(&self, call: u64) {
        // No more of them than calls, which are bounded.
        let pushed = self.outbox.push(Kind::Cancel, call, 0, usize::MAX, |_| {});
        if pushed.is_err() {
            tracing::debug!(call, "a call that was given up had no connection any more");
        }
    }
}

/// The callers' end of a connection.
pub(crate) struct Link<R> {
    shared: Rc<Shared>,
    owner: Rc<Owner<R>>,
    queue_bytes: usize,
    outstanding_max: usize,
}

impl<R> Link<R> {
    pub fn call(&self, request: &impl Message, timeout: Duration) -> Call<R> {
        if self.owner.pending.waiting() >= self.outstanding_max {
            return Call::failed(CallError::Overloaded);
        }
        let call = self.owner.pending.insert(Instant::now(), timeout);
        let (outbox, weight) = (&self.shared.outbox, request.weight());
        let pushed = outbox.push(Kind::Request, call, weight, self.queue_bytes, |out| {
            out.put_u32_le(time_left::encode(timeout));
            request.encode(out);
        });
        let error = match pushed {
            Ok(()) => return Call::waiting(self.owner.clone(), call),
            Err(error) => error,
        };
        self.owner.pending.forget(call);
        Call::failed(error.into())
    }

    pub fn notify(&self, request: &impl Message) -> Result<(), CallError> {
        let (outbox, weight) = (&self.shared.outbox, request.weight());
        outbox.push(Kind::Notice, 0, weight, self.queue_bytes, |out| {
            request.encode(out);
        })?;
        Ok(())
    }

    pub fn stream(&self, request: &impl Message, window_bytes: usize) -> Items<R> {
        let reads = &self.shared.reads;
        if reads.reading.borrow().len() >= STREAMS_MAX {
            return Items::failed(CallError::Overloaded);
        }
        let window = window_bytes.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        let stream = reads.reading.borrow_mut().open(window);
        let (outbox, weight) = (&self.shared.outbox, request.weight());
        let pushed = outbox.push(Kind::Open, stream, weight, self.queue_bytes, |out| {
            out.put_u32_le(u32::try_from(window).unwrap_or(u32::MAX));
            request.encode(out);
        });
        match pushed {
            Ok(()) => Items::line(reads, stream, self.owner.clone()),
            Err(error) => {
                reads.reading.borrow_mut().forget(stream);
                Items::failed(error.into())
            }
        }
    }

    pub fn is_connected(&self) -> bool {
        self.shared.outbox.is_open()
    }

    pub async fn connected(&self) {
        loop {
            let notified = self.shared.connected.notified();
            if self.is_connected() {
                return;
            }
            notified.await;
        }
    }

    pub fn is_coming(&self) -> bool {
        let shared = &self.shared;
        !self.is_connected()
            && (shared.is_called_for.get() || shared.down_since.get().elapsed() < FRESH)
    }

    pub fn has_failed(&self) -> bool {
        !self.is_connected() && self.shared.has_failed.get()
    }

    pub fn distrust(&self) -> Option<Refusal> {
        self.shared.distrust.get()
    }

    pub fn retry_now(&self) {
        if !self.is_connected() {
            self.shared.is_called_for.set(true);
            // Kept for the end of an attempt that is under way: the peer may not have listened yet.
            self.shared.retry.notify_one();
        }
    }

    pub fn redial(&self) {
        if self.is_connected() {
            // Without a permit that would outlive this connection and end the next.
            self.shared.give_up.notify_waiters();
            self.shared.retry.notify_one();
        } else {
            self.retry_now();
        }
    }

    pub fn stats(&self) -> CallerStats {
        CallerStats {
            sent_bytes: self.shared.sent_bytes.get(),
            received_bytes: self.shared.received_bytes.get(),
            queued_bytes: self.shared.outbox.queued_bytes() as u64,
            outstanding: self.owner.pending.waiting() as u64,
            reconnects: self.shared.connects.get().saturating_sub(1),
        }
    }
}

/// The background task.
struct Keeper<R> {
    transport: Arc<dyn Transport>,
    addr: String,
    opening: Box<dyn Opening>,
    options: ConnectOptions,
    shared: Rc<Shared>,
    pending: Rc<Pending<R>>,
}

impl<R: Message> Keeper<R> {
    async fn keep(self) -> std::convert::Infallible {
        let ConnectOptions {
            backoff_min,
            backoff_max,
            seed,
            ..
        } = self.options;
        let mut backoff = Backoff::new(backoff_min, backoff_max, seed);
        let mut outage = Outage::default();
        loop {
            match self.open().await {
                Ok(wire) => {
                    tracing::debug!(addr = self.addr, "connected");
                    let before = self.shared.received_bytes.get();
                    let end = self.run(wire).await;
                    // A peer that accepts and hangs up at once is not one that is back.
                    if self.shared.received_bytes.get() > before {
                        backoff.reset();
                        outage.is_over();
                    }
                    self.report(&mut outage, &end);
                }
                Err(error) => {
                    let refusal = match &error {
                        AcceptError::Secret(_, refusal) => Some(*refusal),
                        _ => None,
                    };
                    self.shared.distrust.set(refusal);
                    self.shared.has_failed.set(true);
                    self.shared.is_called_for.set(false);
                    self.report(&mut outage, &ServeError::Accept(error));
                }
            }
            tokio::select! {
                biased;
                () = self.shared.retry.notified() => self.shared.is_called_for.set(true),
                () = sleep(backoff.next()) => {}
            }
        }
    }

    /// Says once in an outage that lasts why there is no connection.
    fn report(&self, outage: &mut Outage, error: &ServeError) {
        let is_planned = matches!(error, ServeError::GivenUp);
        if !is_planned && outage.lasts(Instant::now()) {
            tracing::warn!(addr = self.addr, %error, "not connected, trying again");
        }
    }

    async fn open(&self) -> Result<Wire, AcceptError> {
        timeout(self.options.connect_timeout, self.open_now())
            .await
            .unwrap_or(Err(AcceptError::Timeout))
    }

    async fn open_now(&self) -> Result<Wire, AcceptError> {
        let (mut stream, distrust) =
            reach(&*self.transport, &self.addr, &self.options.guard).await?;
        let hello = self.opening.hello();
        match hello::open(&mut *stream, &hello).await {
            Ok(body) if self.opening.is_welcome(&body) => {
                self.shared.distrust.set(distrust);
                Ok(Wire::new(stream, self.options.frame_bytes_max))
            }
            Ok(_) => Err(AcceptError::NotServed),
            Err(error) => {
                if let AcceptError::Superseded(body) = &error {
                    self.opening.superseded(body);
                }
                Err(error)
            }
        }
    }

    async fn run(&self, wire: Wire) -> ServeError {
        let open = Open::new(&self.shared, &self.pending);
        open.run(wire, self.options.keepalive).await
    }
}

/// The time during which calls are sent. Closes on every way out, the drop of what runs it included.
struct Open<R> {
    shared: Rc<Shared>,
    pending: Rc<Pending<R>>,
}

impl<R: Message> Open<R> {
    fn new(shared: &Rc<Shared>, pending: &Rc<Pending<R>>) -> Self {
        shared.outbox.open();
        shared.has_failed.set(false);
        shared.is_called_for.set(false);
        shared.connects.set(shared.connects.get() + 1);
        shared.connected.notify_waiters();
        Self {
            shared: shared.clone(),
            pending: pending.clone(),
        }
    }

    async fn run(self, wire: Wire, keepalive: Keepalive) -> ServeError {
        let shared = &self.shared;
        let mut answers = Answers {
            shared,
            pending: &self.pending,
        };
        let session = session::run(wire, &shared.outbox, keepalive, &mut answers);
        tokio::select! {
            biased;
            end = session => end,
            () = shared.give_up.notified() => ServeError::GivenUp,
        }
    }
}

impl<R> Drop for Open<R> {
    fn drop(&mut self) {
        self.shared.outbox.close();
        self.shared.down_since.set(Instant::now());
        self.pending.fail_all(&CallError::Disconnected);
        self.shared.reads.reading.borrow_mut().break_off();
    }
}

/// Streams that one caller may have open.
const STREAMS_MAX: usize = 1_024;

impl<R> Answers<'_, R> {
    fn on_stream(&self, frame: Frame) -> Result<(), FrameError> {
        let (stream, mut body) = (frame.call, frame.body);
        let mut reading = self.shared.reads.reading.borrow_mut();
        let taken = match frame.kind {
            Kind::Item => {
                let is_last = body.try_get_u8();
                let is_last = is_last.map_err(|_| FrameError::Body(frame.kind as u8))?;
                reading.part(stream, &body, is_last != 0)
            }
            _ => reading.end(stream, get_ending(&body)),
        };
        taken.map_err(|why| FrameError::Stream { stream, why })
    }
}

/// Brings answers to their calls.
struct Answers<'a, R> {
    shared: &'a Shared,
    pending: &'a Pending<R>,
}

impl<R: Message> Handler for Answers<'_, R> {
    fn on_frame(&mut self, frame: Frame, _times: Times) -> Result<(), FrameError> {
        let answer = match frame.kind {
            Kind::Response => {
                R::decode(frame.body).map_err(|error| CallError::Protocol(error.to_string()))
            }
            Kind::Refusal => Err(refusal_from(&frame.body)),
            Kind::Item | Kind::End => return self.on_stream(frame),
            kind => return Err(FrameError::Kind(kind as u8)),
        };
        self.pending.complete(frame.call, answer);
        Ok(())
    }

    fn may_read(&self) -> bool {
        true
    }

    fn push_more(&mut self) -> bool {
        false
    }

    fn has_more(&self) -> bool {
        false
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.pending.next_deadline()
    }

    fn on_time(&mut self, now: Instant) {
        self.pending.sweep(now);
    }

    fn count(&mut self, received_bytes: usize, sent_bytes: usize) {
        let Shared {
            received_bytes: received,
            sent_bytes: sent,
            ..
        } = self.shared;
        received.set(received.get() + received_bytes as u64);
        sent.set(sent.get() + sent_bytes as u64);
    }
}
