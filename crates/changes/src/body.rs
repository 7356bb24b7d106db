//! A stream as the body of an answer: made as the client takes it, a batch at a time.

use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Rejected, stream};
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;
use tokio::time::{Instant, sleep_until};

use crate::lease::Lease;
use crate::line::{Form, Reason};
use crate::merge::{Merged, Told};
use crate::plug::AtShard;
use crate::subscription::Subscription;

/// Where nothing is told for so long, it is said how far the stream is.
const BEAT: Duration = Duration::from_secs(5);
/// A token stands behind what was told after so long at most.
const TOKEN_AFTER: Duration = Duration::from_millis(100);
/// Nothing more is at hand when nothing came for so long.
const IDLE: Duration = Duration::from_millis(20);
/// A stream with an end that gets no further for so long ends without.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(30);

struct Body {
    plugged: Option<Rc<AtShard>>,
    services: Rc<Services>,
    merged: Merged,
    form: Form,
    keys_only: bool,
    /// Changes that may still be told.
    left: Option<u64>,
    wait_until: Option<Instant>,
    until_end: bool,
    has_told: bool,
    /// What was told has no token behind it since then.
    open_since: Option<Instant>,
    has_begun: bool,
    last_line: Instant,
    /// When it last got any further.
    last_told: Instant,
    still: Box<dyn Fn() -> Result<(), Rejected>>,
    stopping: LocalFuture<()>,
    /// The cursor that it has.
    lease: Option<Lease>,
    has_named_cursor: bool,
    has_ended: bool,
}

/// The stream.
pub(crate) fn answer(services: Rc<Services>, subscription: Subscription, ask: Ask) -> Answer {
    let form = subscription.form;
    let body = Body::begin(services.clone(), subscription, ask);
    let chunks = streams::unfold(body, |mut body| async move {
        let chunk = body.next().await?;
        Some((Ok(Frame::data(chunk)), body))
    });
    stream(&services, form.media_type(), chunks.boxed_local())
}

impl Body {
    fn begin(services: Rc<Services>, subscription: Subscription, ask: Ask) -> Body {
        let Subscription {
            asked,
            partitions,
            from,
            limit,
            wait,
            form,
            lease,
            targets,
        } = subscription;
        let now = Instant::now();
        let keys_only = asked.keys_only;
        let until_end = targets.is_some();
        let merged = Merged::new(&services, asked, partitions, from, targets);
        if let Some(lease) = &lease {
            merged.set_cursor(lease.holder().0);
        }
        Body {
            plugged: AtShard::of(&services),
            services,
            merged,
            form,
            keys_only,
            left: limit,
            wait_until: wait.map(|wait| now + wait),
            until_end,
            has_told: false,
            open_since: None,
            has_begun: false,
            last_line: now,
            last_told: now,
            still: ask.still,
            stopping: ask.stopping,
            lease,
            has_named_cursor: false,
            has_ended: false,
        }
    }

    /// The next lines; `None` behind the last.
    async fn next(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        if let Some(lease) = &self.lease
            && !std::mem::replace(&mut self.has_named_cursor, true)
        {
            let (name, generation) = lease.holder();
            self.form.cursor(&mut out, name, generation);
        }
        while out.is_empty() {
            if self.has_ended {
                return None;
            }
            if (self.still)().is_err() {
                self.end(&mut out, Reason::Forbidden);
                break;
            }
            if self.left == Some(0) {
                self.end(&mut out, Reason::Limit);
                break;
            }
            self.step(&mut out).await;
        }
        // Whoever sees the end may begin anew at once.
        if self.has_ended
            && let Some(lease) = self.lease.take()
        {
            lease.release().await;
        }
        self.last_line = Instant::now();
        Some(out.freeze())
    }

    async fn step(&mut self, out: &mut BytesMut) {
        let changes_max = self.left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        let far = Instant::now() + UNREACHABLE_AFTER;
        let token_due = self.open_since.map(|since| since + TOKEN_AFTER);
        let idle = (self.wait_until.is_some() && self.has_told).then(|| self.last_told + IDLE);
        let unreachable = self.until_end.then(|| self.last_told + UNREACHABLE_AFTER);
        tokio::select! {
            biased;
            () = &mut self.stopping => self.end(out, Reason::Stopping),
            () = lost(&mut self.lease) => self.end(out, Reason::Taken),
            () = sleep_until(self.wait_until.unwrap_or(far)), if self.wait_until.is_some() => {
                self.end(out, Reason::Wait);
            }
            () = sleep_until(unreachable.unwrap_or(far)), if unreachable.is_some() => {
                self.end(out, Reason::Unreachable);
            }
            told = self.merged.next(changes_max) => {
                let plugged = self.plugged.clone();
                let _turn = match &plugged {
                    Some(plugged) => plugged.turns.take(&self.services, told.bytes()).await,
                    None => None,
                };
                self.tell(told, out);
            }
            () = sleep_until(idle.unwrap_or(far)), if idle.is_some() => self.end(out, Reason::Wait),
            () = sleep_until(token_due.unwrap_or(far)), if token_due.is_some() => self.progress(out),
            () = sleep_until(self.last_line + BEAT) => self.progress(out),
        }
    }

    fn tell(&mut self, told: Told, out: &mut BytesMut) {
        let now_ms = self.services.now_ms();
        let form = self.form;
        match told {
            Told::Beat => {
                // The first token says that all have begun: what is written from here on will be told.
                let is_first = !self.has_begun && self.merged.token().is_some();
                if is_first || self.last_line.elapsed() >= BEAT {
                    self.progress(out);
                }
            }
            Told::Entries(changes) => {
                for change in &changes {
                    form.change(out, change, self.keys_only, now_ms);
                }
                self.told(changes.len());
            }
            Told::Records {
                partition,
                begins,
                records,
                ends,
            } => {
                if let Some((scope, token)) = begins {
                    form.snapshot_begins(out, partition, scope, Some(&*token));
                }
                for record in &records {
                    form.record(out, record, self.keys_only, now_ms);
                }
                self.told(records.len());
                self.last_told = Instant::now();
                if ends {
                    let token = self.merged.token();
                    self.open_since = None;
                    form.snapshot_ends(out, partition, token.as_ref());
                }
            }
            Told::Moved { partitions, to } => {
                let to = self.services.label_of(to);
                form.moved(out, &partitions, &to);
            }
            Told::Done => self.end(out, Reason::Until),
            Told::Dropped => {
                self.has_ended = true;
                form.dropped(out);
            }
        }
        if self
            .open_since
            .is_some_and(|since| since.elapsed() >= TOKEN_AFTER)
        {
            self.progress(out);
        }
    }

    fn told(&mut self, changes: usize) {
        if changes == 0 {
            return;
        }
        let now = Instant::now();
        (self.last_told, self.has_told) = (now, true);
        self.open_since.get_or_insert(now);
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(changes as u64);
        }
    }

    fn progress(&mut self, out: &mut BytesMut) {
        let token = self.merged.token();
        self.has_begun |= token.is_some();
        self.open_since = None;
        self.form
            .progress(out, token.as_ref(), self.merged.forgotten());
    }

    fn end(&mut self, out: &mut BytesMut, reason: Reason) {
        self.has_ended = true;
        self.form.ended(out, reason, self.merged.token().as_ref());
    }
}

/// Waits until the cursor is another's, where there is one.
async fn lost(lease: &mut Option<Lease>) {
    match lease {
        Some(lease) => lease.lost().await,
        None => std::future::pending().await,
    }
}
