//! The commit loop. What is accepted while a group is being written and synced makes the next
//! group: that is all there is to group commit.

use super::{Log, Shared, State};
use crate::{
    error::{Failure, Lack},
    runner::Gone,
    writer::{EarlySync, Fault, Item, Outcome, Writer},
};
use std::{
    future::{pending, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// How long to wait before trying again when disk or file descriptors have run out.
const RETRY: Duration = Duration::from_secs(1);
/// A group up to this size that need not be synced, or is in memory, is written on the event loop.
const BRIEF_BYTES: usize = 64 << 10;
/// How long the log must be idle after a sync before the mark of it is written.
const IDLE: Duration = Duration::from_secs(1);

/// One thing for the writer to do.
enum Work {
    Commit { items: Vec<Item>, sync: bool },
    Housekeep { released: Vec<u64> },
    Mark,
    Close,
}

impl Work {
    /// Whether this only copies a little into the operating system's memory: nobody waits for the disk.
    fn is_brief(&self, is_memory: bool) -> bool {
        let Work::Commit { items, sync } = self else {
            return false;
        };
        if *sync && !is_memory {
            return false;
        }
        let mut bytes = 0;
        items.iter().all(|item| match item {
            Item::Record(record) => {
                bytes += record.len();
                bytes <= BRIEF_BYTES
            }
            Item::Rotate(_) => false,
        })
    }
}

/// A job that was handed to the runner.
type Job<'a> = Pin<Box<dyn Future<Output = Result<(), Gone>> + 'a>>;

/// The sync under way behind the commits, if any.
#[derive(Default)]
struct Behind<'a> {
    job: Option<Job<'a>>,
}

impl Behind<'_> {
    /// Waits for its end; for ever when there is none. What it met the next sync tells.
    async fn ended(&mut self) {
        match &mut self.job {
            Some(job) => drop(job.await),
            None => pending().await,
        }
        self.job = None;
    }

    /// Lets it go on, without waiting.
    async fn go_on(&mut self) {
        let mut ended = pin!(self.ended());
        poll_fn(|context| {
            let _ = ended.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
    }
}

/// When the loop does something unasked.
#[derive(Default)]
struct Timers {
    retry: Option<Instant>,
    mark: Option<Instant>,
}

impl Log {
    /// The commit loop: run it beside the users of the log, until the log is closed or has stopped.
    /// A second call while one runs returns at once. Dropped in the middle of a write, the log has
    /// stopped.
    pub async fn drive(&self) {
        if self.shared.state.borrow().driving {
            return;
        }
        let _guard = Driving::enter(&self.shared);
        let mut timers = Timers::default();
        let mut behind = Behind::default();
        loop {
            // Created before looking, so that no wake-up is lost.
            let woken = self.shared.work.notified();
            let works = self
                .shared
                .state
                .borrow_mut()
                .due(&self.shared, &mut timers);
            let Some(works) = works else {
                return;
            };
            if works.is_empty() {
                let due = [timers.retry, timers.mark].into_iter().flatten().min();
                let timer = async {
                    match due {
                        Some(at) => sleep_until(at).await,
                        None => pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    () = woken => {}
                    () = behind.ended() => {}
                    () = timer => {}
                }
            }
            for work in works {
                // A write may wait for a sync of its file, and the event loop with it.
                let in_place = behind.job.is_none();
                let early = self.perform(work, &mut timers, in_place).await;
                behind.go_on().await;
                if let Some(early) = early
                    && behind.job.is_none()
                {
                    let job = self.shared.runner.run_behind(move || early.perform());
                    behind.job = Some(Box::pin(job));
                    behind.go_on().await;
                }
            }
        }
    }

    /// Writes and syncs all that was accepted, with the mark of that, and ends [`Log::drive`].
    ///
    /// # Errors
    /// What was accepted may not be on disk.
    pub async fn close(&self) -> Result<(), Failure> {
        self.shared.state.borrow_mut().closing = true;
        self.shared.work.notify_one();
        if !self.shared.state.borrow().driving {
            self.drive().await;
        }
        self.wait(|state| state.closed).await
    }

    async fn perform(&self, work: Work, timers: &mut Timers, in_place: bool) -> Option<EarlySync> {
        let shared = &self.shared;
        let writer = shared.state.borrow_mut().writer.take();
        let mut writer = writer?;
        let begun = Instant::now();
        let retried = matches!(work, Work::Housekeep { .. });
        let closing = matches!(work, Work::Close);
        let idle = matches!(work, Work::Mark);
        // A direct write waits for the disk, however small it is.
        let brief = in_place && work.is_brief(shared.is_memory) && !shared.state.borrow().direct_io;
        let job = move || {
            let outcome = execute(&mut writer, work);
            let early = writer.early_sync();
            (writer, outcome, early)
        };
        let result = if brief {
            shared.runner.run_brief(job).await
        } else {
            shared.runner.run(job).await
        };
        let mut state = shared.state.borrow_mut();
        let mut early = None;
        match result {
            Ok((writer, outcome, sync)) => {
                early = sync;
                state.writer = Some(writer);
                state.apply(shared, outcome, begun.elapsed(), retried, closing, timers);
                if idle {
                    timers.mark = None;
                }
            }
            Err(gone) => state.failed = Some(Failure::new(gone.to_string())),
        }
        let failed = state.failed.is_some();
        drop(state);
        shared.progressed.notify_waiters();
        if failed {
            shared.appended.notify_waiters();
        }
        early
    }
}

fn execute(writer: &mut Writer, work: Work) -> Outcome {
    match work {
        Work::Commit { items, sync } => writer.commit(items, sync),
        Work::Housekeep { released } => writer.housekeep(&released),
        Work::Mark => writer.write_mark(),
        Work::Close => writer.close(),
    }
}

impl State {
    /// What is to be done now; none when the loop is to end.
    fn due(&mut self, shared: &Shared, timers: &mut Timers) -> Option<Vec<Work>> {
        if self.failed.is_some() || self.closed {
            return None;
        }
        let now = Instant::now();
        let retry = timers.retry.is_some_and(|at| at <= now);
        self.release();
        let mut works = Vec::new();
        let fresh = !self.queue.is_empty() || (self.sync_wanted && self.synced < self.last);
        self.sync_wanted &= self.synced < self.last;
        let may_commit = !self.blocked || retry || !self.released.is_empty();
        if !self.released.is_empty()
            || ((self.retiring || self.lacks_spares(shared)) && (timers.retry.is_none() || retry))
        {
            works.push(Work::Housekeep {
                released: std::mem::take(&mut self.released),
            });
        }
        if may_commit && (fresh || self.blocked) {
            let items = std::mem::take(&mut self.queue);
            self.handed_bytes += std::mem::take(&mut self.queue_bytes);
            self.queued_bytes = 0;
            let sync = std::mem::take(&mut self.sync_wanted);
            // Records first: nobody waits for housekeeping, unless it makes the room they need.
            let at = if self.blocked { works.len() } else { 0 };
            works.insert(at, Work::Commit { items, sync });
            timers.mark = None;
        }
        if works.is_empty() && self.closing && !self.blocked {
            works.push(Work::Close);
        } else if works.is_empty() && self.mark_due && !self.blocked {
            let at = *timers.mark.get_or_insert(now + IDLE);
            if at <= now {
                works.push(Work::Mark);
            }
        }
        Some(works)
    }

    fn lacks_spares(&self, shared: &Shared) -> bool {
        !self.closing && !self.segments.is_empty() && self.spares < shared.options.spare_segments
    }

    fn apply(
        &mut self,
        shared: &Shared,
        outcome: Outcome,
        latency: Duration,
        housekeeping: bool,
        closing: bool,
        timers: &mut Timers,
    ) {
        let counters = &mut self.counters;
        counters.records += outcome.written - self.written;
        counters.records_synced += outcome.synced - self.synced;
        counters.groups += u64::from(outcome.written > self.written);
        counters.bytes += outcome.bytes;
        counters.tally += outcome.tally;
        if outcome.syncs > 0 {
            counters.synced(latency);
        }
        self.written = outcome.written;
        self.synced = outcome.synced;
        self.spares = outcome.spares;
        self.retiring = outcome.retiring;
        self.mark_due = outcome.mark_due;
        for grown in outcome.grown {
            if let Some(segment) = self
                .segments
                .iter_mut()
                .rev()
                .find(|segment| segment.number == grown.number)
            {
                segment.bytes = grown.bytes;
                segment.settings.direct_io = grown.direct_io;
            }
            if self
                .segments
                .back()
                .is_some_and(|last| last.number == grown.number)
            {
                self.active_bytes = grown.bytes + self.queued_bytes;
                self.direct_io = grown.direct_io;
            }
        }
        match outcome.fault {
            None => {
                // That a group fitted in what was reserved says nothing about more room.
                if housekeeping || self.spares >= shared.options.spare_segments {
                    self.lack = None;
                    timers.retry = None;
                }
                if !housekeeping {
                    self.blocked = false;
                    self.handed_bytes = 0;
                }
                self.closed = closing;
            }
            Some(Fault::Lacks(lack)) => {
                self.note_lack(shared, lack);
                self.blocked |= !housekeeping;
                if self.closing && !housekeeping {
                    self.failed = Some(Failure::new(match lack {
                        Lack::Space => "no space left to write what was accepted",
                        Lack::Files => "no file descriptors left to write what was accepted",
                    }));
                }
                timers.retry = Some(Instant::now() + RETRY);
            }
            Some(Fault::Failed(failure)) => {
                tracing::error!(dir = %shared.dir.display(), %failure, "the log has stopped");
                self.failed = Some(failure);
            }
        }
        if self.queue.is_empty() && self.queue.capacity() == 0 {
            self.queue = outcome.recycled;
        }
        self.tail.trim(shared.options.tail_bytes, self.written);
    }

    /// Says so once, however often it is met before it has passed.
    fn note_lack(&mut self, shared: &Shared, lack: Lack) {
        if self.lack.replace(lack) != Some(lack) {
            let dir = shared.dir.display();
            match lack {
                Lack::Space => tracing::warn!(%dir, "no space left for the log; it waits for some"),
                Lack::Files => {
                    tracing::warn!(%dir, "no file descriptors left for the log; it waits for some");
                }
            }
        }
    }
}

/// Marks the log as driven while it lives.
struct Driving<'a>(&'a Shared);

impl<'a> Driving<'a> {
    fn enter(shared: &'a Shared) -> Driving<'a> {
        shared.state.borrow_mut().driving = true;
        Driving(shared)
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        state.driving = false;
        if state.writer.is_none() && state.failed.is_none() {
            // The writer is lost with the future that waited for it.
            state.failed = Some(Failure::new("the commit loop was dropped in a write"));
        }
        drop(state);
        self.0.progressed.notify_waiters();
        self.0.appended.notify_waiters();
    }
}
