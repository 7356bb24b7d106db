//! What several threads work off together, and the error that ends them all.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::CopyError;
use crate::watch::Watch;

/// Work that waits.
pub(crate) struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    failure: Mutex<Option<CopyError>>,
}

impl<T> Queue<T> {
    /// Of this work.
    pub fn new(work: impl IntoIterator<Item = T>) -> Queue<T> {
        Queue {
            waiting: Mutex::new(work.into_iter().collect()),
            failure: Mutex::default(),
        }
    }

    /// The next piece; `None` when nothing is left, or something has failed.
    pub fn next(&self) -> Option<T> {
        lock(&self.waiting).pop_front()
    }

    /// How many pieces wait.
    pub fn len(&self) -> usize {
        lock(&self.waiting).len()
    }

    /// Ends the others too. The first error is the one that counts.
    pub fn fail(&self, error: CopyError) {
        lock(&self.failure).get_or_insert(error);
        lock(&self.waiting).clear();
    }

    /// Fails when somebody wants to stop, or something has failed.
    pub fn check(&self, watch: &Watch) -> Result<(), CopyError> {
        watch.check()?;
        if lock(&self.failure).is_some() {
            Err(CopyError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// The first error, if there was one.
    pub fn end(self) -> Result<(), CopyError> {
        let failure = self.failure.into_inner();
        failure
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
