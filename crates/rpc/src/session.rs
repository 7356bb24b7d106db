//! One live connection, on either side: reads, dispatches, keeps alive, writes. A single task
//! drives it, so a burst of frames costs one wake, one read and one write.
use crate::error::ServeError;
use crate::frame::{Frame, FrameError, Kind};
use crate::outbox::Outbox;
use crate::wire::Wire;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Reads before other tasks get a turn.
const READS_PER_TURN: usize = 8;
/// Quanta of streams written before other tasks get a turn.
const QUANTA_PER_TURN: usize = 8;
/// Timers are looked at no more often than this.
const TIMER_GRAIN: Duration = Duration::from_millis(5);
/// A frame that has been arriving for longer than the peer may be silent, and slower than this,
/// is one whose length was damaged: nothing else would ever end the wait for the rest of it.
const FRAME_BYTES_PER_S_MIN: f64 = 131_072.0;
/// How many times the allowed silence a peer may take no bytes while it still sends some.
const STALL_FACTOR: u32 = 10;

/// How a connection notices that its peer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// A ping goes out when nothing else did for this long.
    pub ping_interval: Duration,
    /// The connection is given up when nothing came in for this long.
    pub dead_after: Duration,
}

impl Default for Keepalive {
    /// A ping each second, dead after three.
    fn default() -> Self {
        Self {
            ping_interval: Duration::from_secs(1),
            dead_after: Duration::from_secs(3),
        }
    }
}

/// When a frame came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Off the wire.
    pub received: Instant,
    /// To whoever takes it: later where nothing was taken for a while.
    pub now: Instant,
}

/// What one side does with the frames that are its business.
pub(crate) trait Handler {
    /// Takes a frame that is neither ping nor pong.
    fn on_frame(&mut self, frame: Frame, times: Times) -> Result<(), FrameError>;
    /// A frame of so many bytes arrives, of which some are missing.
    fn on_part(&mut self, _bytes: usize) {}
    /// Whether more frames may be taken now; something pushed to the outbox has this asked again.
    fn may_read(&self) -> bool;
    /// When `on_time` wants to be called next.
    fn next_deadline(&self) -> Option<Instant>;
    /// Some time has passed.
    fn on_time(&mut self, now: Instant);
    /// Pushes a quantum of what goes behind all else; false when there is nothing.
    fn push_more(&mut self) -> bool;
    /// Whether there is anything of the kind.
    fn has_more(&self) -> bool;
    /// Bytes went over the wire.
    fn count(&mut self, received_bytes: usize, sent_bytes: usize);
}

/// Drives a connection until it ends.
pub(crate) async fn run(
    wire: Wire,
    outbox: &Rc<Outbox>,
    keepalive: Keepalive,
    handler: &mut impl Handler,
) -> ServeError {
    let now = Instant::now();
    let mut session = Session {
        wire,
        outbox,
        keepalive,
        handler,
        alarm: Box::pin(sleep_until(now + keepalive.ping_interval)),
        received_at: now,
        sent_at: now,
        frame: None,
        has_waited: false,
    };
    poll_fn(|cx| match session.poll(cx) {
        Ok(()) => Poll::Pending,
        Err(end) => Poll::Ready(end),
    })
    .await
}

struct Session<'a, H> {
    wire: Wire,
    outbox: &'a Rc<Outbox>,
    keepalive: Keepalive,
    handler: &'a mut H,
    alarm: Pin<Box<Sleep>>,
    received_at: Instant,
    sent_at: Instant,
    /// The frame that is arriving: since when, and bytes received since then.
    frame: Option<(Instant, usize)>,
    /// What was read last is not all taken yet.
    has_waited: bool,
}

impl<H: Handler> Session<'_, H> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), ServeError> {
        self.read(cx)?;
        let paused = !self.handler.may_read();
        self.keep_time(cx)?;
        self.outbox.register(cx);
        let mut progress = 0;
        // Nothing comes to have more while this one writes.
        let has_more = self.handler.has_more();
        let mut quanta = if has_more { QUANTA_PER_TURN } else { 0 };
        let more = || self.handler.push_more();
        let write = self
            .wire
            .poll_write(cx, self.outbox, &mut progress, &mut quanta, more);
        if progress > 0 {
            self.sent_at = Instant::now();
            self.handler.count(0, progress);
        }
        if let Poll::Ready(written) = write {
            written?;
        }
        let may_go_on = has_more && quanta == 0 && self.handler.has_more();
        if may_go_on || paused && self.handler.may_read() {
            cx.waker().wake_by_ref();
        }
        Ok(())
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), ServeError> {
        for _ in 0..READS_PER_TURN {
            self.dispatch()?;
            if !self.handler.may_read() {
                return Ok(());
            }
            match self.wire.poll_read(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(read) => {
                    let bytes = read?;
                    self.received_at = Instant::now();
                    self.handler.count(bytes, 0);
                    if let Some((_, received)) = &mut self.frame {
                        *received += bytes;
                    }
                }
            }
        }
        self.dispatch()?;
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn dispatch(&mut self) -> Result<(), ServeError> {
        let times = Times {
            received: self.received_at,
            now: if self.has_waited {
                Instant::now()
            } else {
                self.received_at
            },
        };
        self.has_waited = false;
        while self.handler.may_read() {
            let Some(frame) = self.wire.next_frame()? else {
                let Some(bytes) = self.wire.unfinished_bytes() else {
                    self.frame = None;
                    return Ok(());
                };
                self.handler.on_part(bytes);
                if !self.handler.may_read() {
                    self.frame = None;
                } else if self.frame.is_none() {
                    self.frame = Some((times.now, 0));
                }
                return Ok(());
            };
            self.frame = None;
            match frame.kind {
                Kind::Ping => self.push(Kind::Pong),
                Kind::Pong => {}
                _ => self.handler.on_frame(frame, times)?,
            }
        }
        self.frame = None;
        self.has_waited = true;
        Ok(())
    }

    /// Queues an empty frame, unless bytes that say as much are already waiting.
    fn push(&self, kind: Kind) {
        if self.outbox.queued_bytes() == 0 && self.outbox.push(kind, 0, 0, 0, |_| {}).is_err() {
            tracing::debug!("the connection closed before a ping could be sent");
        }
    }

    fn due(&self) -> Instant {
        let mut due = self.sent_at + self.keepalive.ping_interval;
        if self.handler.may_read() {
            due = due.min(self.received_at + self.keepalive.dead_after);
        }
        self.handler
            .next_deadline()
            .map_or(due, |deadline| due.min(deadline))
    }

    fn keep_time(&mut self, cx: &mut Context<'_>) -> Result<(), ServeError> {
        let due = self.due();
        if due < self.alarm.deadline() {
            // Never put off an alarm that is already set: turns may come faster than the grain.
            let soonest = due.max(Instant::now() + TIMER_GRAIN);
            if soonest < self.alarm.deadline() {
                self.alarm.as_mut().reset(soonest);
            }
        }
        while self.alarm.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            self.check(now)?;
            self.handler.on_time(now);
            if now >= self.sent_at + self.keepalive.ping_interval {
                self.push(Kind::Ping);
            }
            let due = self.due().max(now + TIMER_GRAIN);
            self.alarm.as_mut().reset(due);
        }
        Ok(())
    }

    fn check(&self, now: Instant) -> Result<(), ServeError> {
        let Keepalive { dead_after, .. } = self.keepalive;
        let silence = now.saturating_duration_since(self.received_at);
        // While this side itself does not read, silence says nothing about the peer.
        if silence >= dead_after && self.handler.may_read() {
            return Err(ServeError::Silent(silence));
        }
        let stall = now.saturating_duration_since(self.sent_at);
        if stall >= dead_after * STALL_FACTOR && self.outbox.queued_bytes() > 0 {
            return Err(ServeError::Stalled(stall));
        }
        if let Some((since, received)) = self.frame {
            let elapsed = now.saturating_duration_since(since);
            let enough_bytes = elapsed.as_secs_f64() * FRAME_BYTES_PER_S_MIN;
            if elapsed >= dead_after && (received as f64) < enough_bytes {
                let bytes = self.wire.unfinished_bytes().unwrap_or_default();
                return Err(FrameError::Unfinished { bytes }.into());
            }
        }
        Ok(())
    }
}
