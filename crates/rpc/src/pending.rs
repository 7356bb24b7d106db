//! Outstanding calls: a slab, so that an answer finds its call by index, and a coarse deadline
//! sweep, so that a call costs no timer.
use crate::error::CallError;
use std::cell::RefCell;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// The calls of one caller that wait for an answer or whose answer waits to be taken.
///
/// A call's number is `generation << 32 | index`: an answer that comes after its call was given
/// up finds another generation and is dropped.
pub(crate) struct Pending<R> {
    table: RefCell<Table<R>>,
}

struct Table<R> {
    slots: Vec<Slot<R>>,
    free: Vec<u32>,
    waiting: usize,
    /// No waiting call's deadline is before this; it may be earlier than all of them.
    next_deadline: Option<Instant>,
}

struct Slot<R> {
    generation: u32,
    state: State<R>,
}

enum State<R> {
    Free,
    Waiting {
        deadline: Instant,
        timeout: Duration,
        waker: Option<Waker>,
    },
    Done(Result<R, CallError>),
}

impl<R> Default for Pending<R> {
    fn default() -> Self {
        let table = Table {
            slots: Vec::new(),
            free: Vec::new(),
            waiting: 0,
            next_deadline: None,
        };
        Self {
            table: RefCell::new(table),
        }
    }
}

impl<R> Table<R> {
    fn slot(&mut self, call: u64) -> Option<&mut Slot<R>> {
        let slot = self.slots.get_mut((call & u64::from(u32::MAX)) as usize)?;
        (slot.generation == (call >> 32) as u32).then_some(slot)
    }
}

impl<R> Pending<R> {
    /// A number for a new call that is given up after `timeout`.
    pub fn insert(&self, now: Instant, timeout: Duration) -> u64 {
        let deadline = now + timeout;
        let mut table = self.table.borrow_mut();
        table.waiting += 1;
        table.next_deadline = Some(table.next_deadline.map_or(deadline, |d| d.min(deadline)));
        let state = State::Waiting {
            deadline,
            timeout,
            waker: None,
        };
        if let Some(index) = table.free.pop()
            && let Some(slot) = table.slots.get_mut(index as usize)
        {
            slot.generation = slot.generation.wrapping_add(1);
            slot.state = state;
            return u64::from(slot.generation) << 32 | u64::from(index);
        }
        let index = table.slots.len() as u64;
        table.slots.push(Slot {
            generation: 0,
            state,
        });
        index
    }

    /// Gives a waiting call its answer. One that nobody waits for any more is dropped.
    pub fn complete(&self, call: u64, answer: Result<R, CallError>) {
        let waker = {
            let mut table = self.table.borrow_mut();
            let Some(slot) = table.slot(call) else { return };
            let State::Waiting { waker, .. } = &mut slot.state else {
                return;
            };
            let waker = waker.take();
            slot.state = State::Done(answer);
            table.waiting -= 1;
            waker
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The answer, once it is there; the call's number is of no use afterwards.
    pub fn poll(&self, call: u64, cx: &Context<'_>) -> Poll<Result<R, CallError>> {
        let mut table = self.table.borrow_mut();
        let Some(slot) = table.slot(call) else {
            return Poll::Ready(Err(CallError::Disconnected));
        };
        match std::mem::replace(&mut slot.state, State::Free) {
            State::Waiting {
                deadline,
                timeout,
                waker,
            } => {
                let waker = match waker {
                    Some(waker) if waker.will_wake(cx.waker()) => waker,
                    _ => cx.waker().clone(),
                };
                slot.state = State::Waiting {
                    deadline,
                    timeout,
                    waker: Some(waker),
                };
                Poll::Pending
            }
            State::Done(answer) => {
                table.free.push(call as u32);
                Poll::Ready(answer)
            }
            State::Free => Poll::Ready(Err(CallError::Disconnected)),
        }
    }

    /// Gives up a call whose answer nobody wants; whether it was still to come.
    pub fn forget(&self, call: u64) -> bool {
        let unlocked_drop = {
            let mut table = self.table.borrow_mut();
            let Some(slot) = table.slot(call) else {
                return false;
            };
            let state = std::mem::replace(&mut slot.state, State::Free);
            match state {
                State::Free => return false,
                State::Waiting { .. } => table.waiting -= 1,
                State::Done(_) => {}
            }
            table.free.push(call as u32);
            state
        };
        matches!(unlocked_drop, State::Waiting { .. })
    }

    /// Ends every waiting call with `error`.
    pub fn fail_all(&self, error: &CallError) {
        self.fail_where(|_, _| Some(error.clone()));
        self.table.borrow_mut().next_deadline = None;
    }

    /// Ends the calls whose deadline has passed.
    pub fn sweep(&self, now: Instant) {
        let mut next = None::<Instant>;
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.fail_where(|deadline, timeout| {
            if deadline <= now {
                return Some(CallError::Timeout(timeout));
            }
            next = Some(next.map_or(deadline, |next| next.min(deadline)));
            None
        });
        self.table.borrow_mut().next_deadline = next;
    }

    fn fail_where(&self, mut verdict: impl FnMut(Instant, Duration) -> Option<CallError>) {
        let mut wakers = Vec::new();
        {
            let mut table = self.table.borrow_mut();
            let mut failed = 0;
            for slot in &mut table.slots {
                if let State::Waiting {
                    deadline,
                    timeout,
                    waker,
                } = &mut slot.state
                    && let Some(error) = verdict(*deadline, *timeout)
                {
                    wakers.extend(waker.take());
                    slot.state = State::Done(Err(error));
                    failed += 1;
                }
            }
            table.waiting -= failed;
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// When `sweep` is worth calling next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.table.borrow().next_deadline
    }

    /// Calls without an answer.
    pub fn waiting(&self) -> usize {
        self.table.borrow().waiting
    }
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
