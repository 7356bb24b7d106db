//! A process that can be held (SIGSTOP) and let go on: while it is held nothing of it runs, but its
//! clock goes on and what is sent to it waits in its sockets.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, Waker};

use tokio::task::LocalSet;

/// Holds one process.
#[derive(Default)]
pub struct Pause {
    held: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Pause {
    /// Nothing of the process runs from now on.
    pub fn hold(&self) {
        self.held.set(true);
    }

    /// The process goes on.
    pub fn release(&self) {
        self.held.set(false);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Runs `process` and every task it starts, except while it is held.
    pub async fn run<T>(&self, process: impl Future<Output = T>) -> T {
        // Its tasks are on a set of their own, which is not polled while it is held.
        let tasks = LocalSet::new();
        let mut running = pin!(tasks.run_until(process));
        poll_fn(|context| {
            if self.held.get() {
                self.waker.replace(Some(context.waker().clone()));
                return Poll::Pending;
            }
            running.as_mut().poll(context)
        })
        .await
    }
}
