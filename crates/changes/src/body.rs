//! A stream as the body of an answer: made as the client takes it, a piece at a time.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Rejected, live};
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;
use tokio::time::{Instant, sleep_until};

use crate::change::Change;
use crate::held::Hold;
use crate::lease::Lease;
use crate::line::{Form, Reason};
use crate::merge::{Merged, Told};
use crate::outbox::{Outbox, PIECE_BYTES};
use crate::plug::AtShard;
use crate::subscription::Subscription;
use crate::turn::Turn;
use crate::window::Window;

/// Where nothing is told for so long, it is said how far the stream is.
const BEAT: Duration = Duration::from_secs(5);
/// A token stands behind what was told after so long at most.
const TOKEN_AFTER: Duration = Duration::from_millis(100);
/// Nothing more is at hand when nothing came for so long.
const IDLE: Duration = Duration::from_millis(20);
/// A stream from now on that ends at once still says where it goes on, if that is known within this time.
const BEGIN_WITHIN: Duration = Duration::from_secs(2);
/// A stream with an end that gets no further for so long ends without.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(30);

/// A stream ends whose node has not reached a majority of any partition's replicas for so long: another may.
const ISOLATED_FOR: Duration = Duration::from_secs(10);

struct Body {
    plugged: Option<Rc<AtShard>>,
    services: Rc<Services>,
    merged: Merged,
    form: Form,
    keys_only: bool,
    /// Changes that may still be told.
    left: Option<u64>,
    wait: Option<Wait>,
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
    has_ended: bool,
    /// Changes that were read and are not written as lines yet.
    batch: Option<Batch>,
    out: Outbox,
    taking: Taking,
}

/// When a stream ends that waits for a while.
struct Wait {
    until: Instant,
    /// Not before, unless it is known where it goes on.
    begin_until: Instant,
}

/// The part of a stream that its client is taking.
#[derive(Default)]
struct Taking {
    /// Held until it has taken all.
    holds: Vec<Hold>,
    window: Arc<Window>,
}

/// Changes that were read at a time.
struct Batch {
    rest: Rest,
    bytes: usize,
    /// They are the last stored records of this partition.
    ends: Option<u16>,
}

enum Rest {
    Entries(std::vec::IntoIter<Rc<Change>>),
    Records(std::vec::IntoIter<Entry>),
}

impl Rest {
    /// Writes the line of the next change; whether there was one.
    fn write(&mut self, form: Form, out: &mut Outbox, keys_only: bool, now_ms: u64) -> bool {
        match self {
            Rest::Entries(changes) => {
                let next = changes.next();
                next.inspect(|change| form.change(out, change, keys_only, now_ms))
                    .is_some()
            }
            Rest::Records(records) => {
                let next = records.next();
                next.inspect(|record| form.record(out, record, keys_only, now_ms))
                    .is_some()
            }
        }
    }
}

/// The stream.
pub(crate) fn answer(services: Rc<Services>, subscription: Subscription, ask: Ask) -> Answer {
    let form = subscription.form;
    let body = Body::begin(services.clone(), subscription, ask);
    let chunks = streams::unfold(body, |mut body| async move {
        let chunk = body.next().await?;
        Some((Ok(Frame::data(chunk)), body))
    });
    live(&services, form.media_type(), chunks.boxed_local())
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
        merged.set_abort(ask.abort);
        let mut out = Outbox::default();
        if let Some(lease) = &lease {
            let (name, generation) = lease.holder();
            merged.set_cursor(name);
            form.cursor(out.buffer(), name, generation);
        }
        Body {
            plugged: AtShard::of(&services),
            services,
            merged,
            form,
            keys_only,
            left: limit,
            wait: wait.map(|wait| Wait {
                until: now + wait,
                begin_until: now + BEGIN_WITHIN,
            }),
            until_end,
            has_told: false,
            open_since: None,
            has_begun: false,
            last_line: now,
            last_told: now,
            still: ask.still,
            stopping: ask.stopping,
            lease,
            has_ended: false,
            batch: None,
            out,
            taking: Taking::default(),
        }
    }

    /// The next piece; `None` behind the last.
    async fn next(&mut self) -> Option<Bytes> {
        self.taking.window.room().await;
        while !self.out.is_full() {
            if self.batch.is_some() {
                self.write().await;
            } else if self.has_ended || !self.out.is_empty() {
                break;
            } else if (self.still)().is_err() {
                self.end(Reason::Forbidden);
            } else if self.left == Some(0) {
                self.end(Reason::Limit);
            } else {
                self.step().await;
            }
        }
        if self.out.is_empty() {
            return None;
        }
        let piece = self.take().await;
        if self.out.is_empty() && self.batch.is_none() {
            self.taking.holds.clear();
            // Whoever sees the end may begin anew at once.
            if self.has_ended
                && let Some(lease) = self.lease.take()
            {
                lease.release().await;
            }
        }
        self.last_line = Instant::now();
        Some(self.taking.window.count(piece))
    }

    /// The next piece; large values are encoded in turn with other streams.
    async fn take(&mut self) -> Bytes {
        let bytes = if self.out.is_large() { PIECE_BYTES } else { 0 };
        let plugged = self.plugged.clone();
        let _turn = turn(&plugged, &self.services, bytes).await;
        self.out.take()
    }

    /// Writes lines of the batch, as many as go out at a time.
    async fn write(&mut self) {
        let Some(batch) = &mut self.batch else {
            return;
        };
        let plugged = self.plugged.clone();
        let _turn = turn(&plugged, &self.services, batch.bytes).await;
        let now_ms = self.services.now_ms();
        while batch
            .rest
            .write(self.form, &mut self.out, self.keys_only, now_ms)
        {
            if self.out.is_full() {
                return;
            }
        }
        let ends = batch.ends;
        self.batch = None;
        if let Some(partition) = ends {
            let token = self.merged.token();
            self.open_since = None;
            self.form
                .snapshot_ends(self.out.buffer(), partition, token.as_ref());
        }
        self.conclude();
    }

    /// A token is due now and then.
    fn conclude(&mut self) {
        let is_due = |since: Instant| since.elapsed() >= TOKEN_AFTER;
        if self.open_since.is_some_and(is_due) {
            self.progress();
        }
    }

    async fn step(&mut self) {
        let changes_max = self.left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        let far = Instant::now() + UNREACHABLE_AFTER;
        // A stream from now on first learns where that is.
        let wait_until = self.wait.as_ref().map(|wait| {
            if self.merged.token().is_some() {
                wait.until
            } else {
                wait.until.max(wait.begin_until)
            }
        });
        let token_due = self.open_since.map(|since| since + TOKEN_AFTER);
        let idle = (self.wait.is_some() && self.has_told).then(|| self.last_told + IDLE);
        let unreachable = self.until_end.then(|| self.last_told + UNREACHABLE_AFTER);
        tokio::select! {
            biased;
            () = &mut self.stopping => self.end(Reason::Stopping),
            () = lost(&mut self.lease) => self.end(Reason::Taken),
            () = sleep_until(wait_until.unwrap_or(far)), if wait_until.is_some() => {
                self.end(Reason::Wait);
            }
            () = sleep_until(unreachable.unwrap_or(far)), if unreachable.is_some() => {
                self.end(Reason::Unreachable);
            }
            told = self.merged.next_at_most(changes_max) => self.tell(told),
            () = sleep_until(idle.unwrap_or(far)), if idle.is_some() => self.end(Reason::Wait),
            () = sleep_until(token_due.unwrap_or(far)), if token_due.is_some() => self.progress(),
            () = sleep_until(self.last_line + BEAT) => self.progress(),
        }
    }

    fn tell(&mut self, told: Told) {
        let form = self.form;
        let bytes = told.bytes();
        match told {
            Told::Beat => {
                let since = self.merged.isolated_since();
                if since.is_some_and(|since| since.elapsed() >= ISOLATED_FOR) {
                    self.end(Reason::Unreachable);
                    return;
                }
                // The first token says that all have begun: what is written from here on will be told.
                let is_first = !self.has_begun && self.merged.token().is_some();
                if is_first || self.last_line.elapsed() >= BEAT {
                    self.progress();
                }
            }
            Told::Entries(changes) => {
                self.told(changes.len());
                let holder = self.merged.holder();
                let holds = changes.iter().filter_map(|change| holder.change(change));
                self.taking.holds.extend(holds);
                let rest = Rest::Entries(changes.into_iter());
                self.batch = Some(Batch {
                    rest,
                    bytes,
                    ends: None,
                });
                return;
            }
            Told::Records {
                partition,
                begins,
                records,
                ends,
            } => {
                if let Some((scope, token)) = begins {
                    form.snapshot_begins(self.out.buffer(), partition, scope, Some(&*token));
                }
                self.told(records.len());
                self.last_told = Instant::now();
                self.taking.holds.extend(self.merged.holder().bytes(bytes));
                self.batch = Some(Batch {
                    rest: Rest::Records(records.into_iter()),
                    bytes,
                    ends: ends.then_some(partition),
                });
                return;
            }
            Told::Moved { partitions, to } => {
                let to = self.services.label_of(to);
                form.moved(self.out.buffer(), &partitions, &to);
            }
            Told::Done => self.end(Reason::Until),
            Told::PutBack => self.end(Reason::PutBack),
            Told::Dropped => {
                self.has_ended = true;
                form.dropped(self.out.buffer());
            }
        }
        self.conclude();
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

    fn progress(&mut self) {
        let token = self.merged.token();
        self.has_begun |= token.is_some();
        self.open_since = None;
        let forgotten = self.merged.forgotten();
        self.form
            .progress(self.out.buffer(), token.as_ref(), forgotten);
    }

    fn end(&mut self, reason: Reason) {
        self.has_ended = true;
        let token = self.merged.token();
        self.form.ended(self.out.buffer(), reason, token.as_ref());
    }
}

/// A turn to write so many bytes; none is needed for a few.
async fn turn<'p>(
    plugged: &'p Option<Rc<AtShard>>,
    services: &Services,
    bytes: usize,
) -> Option<Turn<'p>> {
    match plugged {
        Some(plugged) => plugged.turns.take(services, bytes).await,
        None => None,
    }
}

/// Waits until the cursor is another's, where there is one.
async fn lost(lease: &mut Option<Lease>) {
    match lease {
        Some(lease) => lease.lost().await,
        None => std::future::pending().await,
    }
}
