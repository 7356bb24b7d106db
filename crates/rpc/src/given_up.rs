//! Calls whose answerer wants to hear when nobody waits for the answer any more.
//!
//! Only who asks for it is noted: most calls are answered at once, and cost nothing here. A call is
//! handled in one go with its frame, so that what is noted then hears of every cancel.
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::time::{Instant, Sleep, sleep_until};

/// Who calls, where several share a queue, and the call's number.
pub(crate) type CallId = (u64, u64);

/// The calls of one connection or queue that are watched.
#[derive(Default)]
pub(crate) struct Watches {
    calls: RefCell<BTreeMap<CallId, Rc<Watched>>>,
    closed: Cell<bool>,
}

#[derive(Default)]
struct Watched {
    is_over: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Watched {
    fn end(&self) {
        self.is_over.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Watches {
    /// Of a call that is being handled.
    pub fn watch(self: &Rc<Self>, call: CallId, deadline: Option<Instant>) -> GivenUp {
        let watched = Rc::new(Watched::default());
        watched.is_over.set(self.closed.get());
        self.calls.borrow_mut().insert(call, watched.clone());
        GivenUp {
            watches: self.clone(),
            call,
            watched,
            alarm: deadline.map(|deadline| Box::pin(sleep_until(deadline))),
        }
    }

    /// The caller does not wait for this call. One that is not watched is none of this one's business.
    pub fn cancel(&self, call: CallId) {
        let watched = self.calls.borrow_mut().remove(&call);
        if let Some(watched) = watched {
            watched.end();
        }
    }

    /// Nobody waits for any call.
    pub fn close(&self) {
        self.closed.set(true);
        let all = std::mem::take(&mut *self.calls.borrow_mut());
        all.into_values().for_each(|watched| watched.end());
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.calls.borrow().len()
    }
}

/// Is ready when nobody waits for the answer to a call any more: the caller has given it up, its time
/// is over, or the connection is gone.
pub struct GivenUp {
    watches: Rc<Watches>,
    call: CallId,
    watched: Rc<Watched>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Future for GivenUp {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.watched.is_over.get() {
            return Poll::Ready(());
        }
        if let Some(alarm) = &mut self.alarm
            && alarm.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(());
        }
        let mut waker = self.watched.waker.borrow_mut();
        match &*waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => *waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        let mut calls = self.watches.calls.borrow_mut();
        // A peer that uses a number twice has put another in its place.
        let is_own = |watched: &Rc<Watched>| Rc::ptr_eq(watched, &self.watched);
        if calls.get(&self.call).is_some_and(is_own) {
            calls.remove(&self.call);
        }
    }
}

#[cfg(test)]
#[path = "given_up_tests.rs"]
mod tests;
