//! A value that many watch. Those who wait for it to change are woken in the order in which they began
//! to; tokio's `watch` wakes them in a random one, and another order is another run of a simulation.
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::watch::{self, Ref, error::RecvError};

/// The side that sets the value. Clones set the same one.
#[derive(Clone, Debug)]
pub struct Shown<T> {
    // Dropped in this order: those who are woken find that nothing more comes.
    value: watch::Sender<T>,
    waiting: Waiting,
}

/// Wakes all when it is dropped.
#[derive(Clone, Debug)]
struct Waiting(Arc<Notify>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl<T> Shown<T> {
    /// With this value at first.
    pub fn new(value: T) -> Self {
        Self {
            value: watch::Sender::new(value),
            waiting: Waiting(Arc::default()),
        }
    }

    /// A watcher that has seen the present value.
    pub fn watch(&self) -> Watcher<T> {
        Watcher {
            value: self.value.subscribe(),
            waiting: self.waiting.0.clone(),
        }
    }

    /// The value. Keep it for a moment only: meanwhile it cannot change.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.value.borrow()
    }

    /// Sets the value and wakes the watchers.
    pub fn send(&self, value: T) {
        self.value.send_replace(value);
        self.waiting.0.notify_waiters();
    }

    /// Wakes the watchers when `modify` says that it has changed the value.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) {
        if self.value.send_if_modified(modify) {
            self.waiting.0.notify_waiters();
        }
    }
}

/// Watches a value. Those who wait for it to change are woken in the order in which they began to.
#[derive(Clone, Debug)]
pub struct Watcher<T> {
    value: watch::Receiver<T>,
    waiting: Arc<Notify>,
}

impl<T> Watcher<T> {
    /// The value. Keep it for a moment only: meanwhile it cannot change.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.value.borrow()
    }

    /// The same, which is seen now.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        self.value.borrow_and_update()
    }

    /// Whether there is a value that was not seen.
    ///
    /// # Errors
    /// When there will be no other one.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.value.has_changed()
    }

    /// Waits for a value that was not seen, which is seen then.
    ///
    /// # Errors
    /// When there will be no other one.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        loop {
            // Waits from here on, so that nothing comes between the look and the sleep.
            let mut woken = pin!(self.waiting.notified());
            woken.as_mut().enable();
            if self.value.has_changed()? {
                self.value.mark_unchanged();
                return Ok(());
            }
            woken.await;
        }
    }
}

impl<T: Clone> Watcher<T> {
    /// Waits for a value such as this, the present one included.
    ///
    /// # Errors
    /// When none is, and there will be no other one.
    pub async fn wait_for(&mut self, mut is_it: impl FnMut(&T) -> bool) -> Result<T, RecvError> {
        loop {
            let value = self.borrow_and_update().clone();
            if is_it(&value) {
                return Ok(value);
            }
            self.changed().await?;
        }
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
