//! Calls inside one process: no bytes, any thread to any other.
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use dunlin_message::Message;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::call::{Call, Owner};
use crate::caller::{Caller, CallerStats, Path};
use crate::error::CallError;
use crate::given_up::CallId;
use crate::mailbox::Mailbox;
use crate::pending::Pending;
use crate::stream::items::Items;
use crate::stream::near::{Near, NearEnd};
use crate::stream::{WINDOW_BYTES_MAX, WINDOW_BYTES_MIN};

/// Deadlines are looked at no more often than this.
const TIMER_GRAIN: Duration = Duration::from_millis(5);

/// Streams of all callers that may be open.
const STREAMS_MAX: usize = 1_024;

/// What may wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueOptions {
    /// Weight of requests without an answer, of all callers together, before calls are
    /// `Overloaded`. Into an empty queue even a heavier request goes.
    pub queue_bytes: usize,
    /// Calls of one caller that may be without an answer before they are `Overloaded`.
    pub outstanding_max: usize,
}

impl Default for QueueOptions {
    /// 16 MiB and 65,536 calls.
    fn default() -> Self {
        Self {
            queue_bytes: 16 << 20,
            outstanding_max: 65_536,
        }
    }
}

/// A queue into one shard: its address for callers on any thread, and its inbox for
/// [`crate::serve_inbox`].
pub fn queue<Q: Message, R: Message>(options: QueueOptions) -> (QueueAddress<Q, R>, Inbox<Q, R>) {
    let shared = Arc::new(Shared {
        requests: Mailbox::default(),
        queued_bytes: AtomicUsize::new(0),
        callers: AtomicU64::new(0),
        streams: Arc::default(),
        options,
    });
    (
        QueueAddress(Arc::new(Sender {
            shared: shared.clone(),
        })),
        Inbox { shared },
    )
}

/// Where a queue's requests wait.
pub(crate) struct Shared<Q, R> {
    requests: Mailbox<Sent<Q, R>>,
    queued_bytes: AtomicUsize,
    /// Callers there have been.
    callers: AtomicU64,
    /// Streams that are open.
    streams: Arc<AtomicUsize>,
    options: QueueOptions,
}

impl<Q, R> Shared<Q, R> {
    /// Counts a request, if there is room for it.
    fn has_room(&self, weight: usize) -> bool {
        let before = self.queued_bytes.fetch_add(weight, Ordering::Relaxed);
        let has_room = before == 0 || before.saturating_add(weight) <= self.options.queue_bytes;
        if !has_room {
            self.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
        }
        has_room
    }
}

/// What is on its way.
pub(crate) enum Sent<Q, R> {
    Request(Q, QueueReply<R>),
    /// One that is not answered.
    Notice(Q, Waits),
    /// One whose answer is a stream.
    Open(Q, NearEnd<R>),
    /// Nobody waits for this call any more.
    Cancel(CallId),
}

type Answer<R> = (u64, Result<R, CallError>);

/// What the answering side needs of the queue besides the requests: is it still served?
pub(crate) trait Load: Send + Sync {
    fn release(&self, weight: usize);
    fn is_served(&self) -> bool;
}

impl<Q: Send, R: Send> Load for Shared<Q, R> {
    fn release(&self, weight: usize) {
        self.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
    }

    fn is_served(&self) -> bool {
        !self.requests.is_closed()
    }
}

/// A request that is not answered, as long as it waits in the queue.
pub(crate) struct Waits {
    load: Arc<dyn Load>,
    weight: usize,
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.load.release(self.weight);
    }
}

/// The way back to one caller.
pub(crate) struct QueueReply<R> {
    answers: Arc<Mailbox<Answer<R>>>,
    load: Arc<dyn Load>,
    id: CallId,
    weight: usize,
    deadline: Option<Instant>,
}

impl<R> QueueReply<R> {
    pub fn id(&self) -> CallId {
        self.id
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Without an answer, for nobody waits, unless this side went first.
    pub fn abandon(self) {
        if self.load.is_served() {
            self.load.release(self.weight)
        } else {
            self.send(Err(CallError::Disconnected))
        }
    }

    pub fn send(self, answer: Result<R, CallError>) {
        self.load.release(self.weight);
        // A caller that is gone wants no answer.
        drop(self.answers.push((self.id.1, answer)));
    }

    /// The answer for a call that was dropped: refused, or cut off together with its inbox.
    pub fn send_dropped(self, refusal: CallError) {
        let served = self.load.is_served();
        self.send(Err(if served {
            refusal
        } else {
            CallError::Disconnected
        }));
    }
}

/// Closes the queue with the last address and caller.
struct Sender<Q, R> {
    shared: Arc<Shared<Q, R>>,
}

impl<Q, R> Drop for Sender<Q, R> {
    fn drop(&mut self) {
        self.shared.requests.close();
    }
}

/// The address of a queue; goes to any thread.
pub struct QueueAddress<Q, R>(Arc<Sender<Q, R>>);

impl<Q, R> Clone for QueueAddress<Q, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q: Message, R: Message> QueueAddress<Q, R> {
    /// A caller for this thread. Spawns the task that takes its answers on the `LocalSet`.
    pub fn caller(&self) -> Caller<Q, R> {
        let pending = Rc::new(Pending::<R>::default());
        let stop = Rc::new(Notify::new());
        let number = self.0.shared.callers.fetch_add(1, Ordering::Relaxed);
        let cancels = self.0.clone();
        let link = QueueLink {
            sender: self.0.clone(),
            number,
            load: self.0.shared.clone(),
            answers: Arc::new(Mailbox::default()),
            owner: Rc::new(Owner {
                pending: pending.clone(),
                stop: stop.clone(),
                cancel: Box::new(move |call| {
                    // Refused where nobody answers any more.
                    drop(cancels.shared.requests.push(Sent::Cancel((number, call))));
                }),
            }),
            earlier: Rc::new(Notify::new()),
            armed: Rc::new(Cell::new(None)),
            sent_bytes: Cell::new(0),
            received_bytes: Rc::new(Cell::new(0)),
        };
        let answers = link.answers.clone();
        let received = link.received_bytes.clone();
        let times = keep_time(pending.clone(), link.earlier.clone(), link.armed.clone());
        tokio::task::spawn_local(async move {
            tokio::select! {
                biased;
                () = stop.notified() => {}
                () = take_answers(&answers, &pending, &received) => {}
                () = times => {}
            }
            answers.close();
        });
        Caller::new(Path::Queue(Rc::new(link)))
    }
}

/// Brings answers to their calls for as long as it is polled.
async fn take_answers<R: Message>(
    answers: &Mailbox<Answer<R>>,
    pending: &Pending<R>,
    received_bytes: &Cell<u64>,
) {
    let mut batch = Vec::new();
    while poll_fn(|cx| answers.poll_take(cx, &mut batch)).await {
        for (call, answer) in batch.drain(..) {
            let weight = answer.as_ref().map_or(0, Message::weight);
            received_bytes.set(received_bytes.get() + weight as u64);
            pending.complete(call, answer);
        }
    }
}

/// Ends calls whose deadline has passed, for as long as it is polled.
async fn keep_time<R>(
    pending: Rc<Pending<R>>,
    earlier: Rc<Notify>,
    armed: Rc<Cell<Option<Instant>>>,
) {
    let mut alarm = pin!(sleep(Duration::ZERO));
    loop {
        let now = Instant::now();
        pending.sweep(now);
        let next = pending
            .next_deadline()
            .map(|deadline| deadline.max(now + TIMER_GRAIN));
        armed.set(next);
        let Some(next) = next else {
            earlier.notified().await;
            continue;
        };
        alarm.as_mut().reset(next);
        let mut earlier = pin!(earlier.notified());
        poll_fn(|cx| {
            let fired = alarm.as_mut().poll(cx).is_ready();
            let woken = earlier.as_mut().poll(cx).is_ready();
            if fired || woken {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// The callers' end of a queue.
pub(crate) struct QueueLink<Q, R> {
    sender: Arc<Sender<Q, R>>,
    /// Which of the queue's callers it is.
    number: u64,
    load: Arc<dyn Load>,
    answers: Arc<Mailbox<Answer<R>>>,
    owner: Rc<Owner<R>>,
    earlier: Rc<Notify>,
    armed: Rc<Cell<Option<Instant>>>,
    sent_bytes: Cell<u64>,
    received_bytes: Rc<Cell<u64>>,
}

impl<Q: Message, R: Message> QueueLink<Q, R> {
    pub fn call(&self, request: Q, timeout: Duration) -> Call<R> {
        let Shared {
            requests,
            queued_bytes,
            options,
            ..
        } = &*self.sender.shared;
        if self.owner.pending.waiting() >= options.outstanding_max {
            return Call::failed(CallError::Overloaded);
        }
        let weight = request.weight();
        if !self.sender.shared.has_room(weight) {
            return Call::failed(CallError::Overloaded);
        }
        let now = Instant::now();
        let call = self.owner.pending.insert(now, timeout);
        let reply = QueueReply {
            answers: self.answers.clone(),
            load: self.load.clone(),
            id: (self.number, call),
            weight,
            deadline: now.checked_add(timeout),
        };
        if requests.push(Sent::Request(request, reply)).is_err() {
            queued_bytes.fetch_sub(weight, Ordering::Relaxed);
            self.owner.pending.forget(call);
            return Call::failed(CallError::Disconnected);
        }
        self.sent_bytes.set(self.sent_bytes.get() + weight as u64);
        if self.armed.get().is_none_or(|armed| now + timeout < armed) {
            self.earlier.notify_one();
        }
        Call::waiting(self.owner.clone(), call)
    }

    pub fn notify(&self, request: Q) -> Result<(), CallError> {
        let shared = &self.sender.shared;
        let weight = request.weight();
        if !shared.has_room(weight) {
            return Err(CallError::Overloaded);
        }
        let waits = Waits {
            load: self.load.clone(),
            weight,
        };
        let sent = shared.requests.push(Sent::Notice(request, waits));
        sent.map_err(|_closed| CallError::Disconnected)?;
        self.sent_bytes.set(self.sent_bytes.get() + weight as u64);
        Ok(())
    }

    pub fn stream(&self, request: Q, window_bytes: usize) -> Items<R> {
        let Shared {
            requests, streams, ..
        } = &*self.sender.shared;
        let near = Near::new(window_bytes.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX));
        let items = Items::near(near.clone());
        let end = NearEnd::new(near, self.load.clone(), streams.clone(), STREAMS_MAX);
        let Some(end) = end else {
            return Items::failed(CallError::Overloaded);
        };
        match requests.push(Sent::Open(request, end)) {
            Ok(()) => items,
            Err(_closed) => Items::failed(CallError::Disconnected),
        }
    }

    pub fn is_connected(&self) -> bool {
        self.load.is_served()
    }

    pub fn stats(&self) -> CallerStats {
        CallerStats {
            sent_bytes: self.sent_bytes.get(),
            received_bytes: self.received_bytes.get(),
            queued_bytes: self.sender.shared.queued_bytes.load(Ordering::Relaxed) as u64,
            outstanding: self.owner.pending.waiting() as u64,
            reconnects: 0,
        }
    }
}

/// The receiving end of a queue; give it to [`crate::serve_inbox`] on the shard's thread. When it
/// is dropped, calls that wait in it and calls made later are `Disconnected`.
pub struct Inbox<Q, R> {
    shared: Arc<Shared<Q, R>>,
}

impl<Q, R> Inbox<Q, R> {
    /// Waits for requests and takes all there are; false when nobody can send any more.
    pub(crate) async fn take(&self, batch: &mut Vec<Sent<Q, R>>) -> bool {
        poll_fn(|cx| self.shared.requests.poll_take(cx, batch)).await
    }
}

impl<Q, R> Drop for Inbox<Q, R> {
    fn drop(&mut self) {
        for sent in self.shared.requests.close_and_take() {
            if let Sent::Request(_, reply) = sent {
                reply.send(Err(CallError::Disconnected));
            }
        }
    }
}
