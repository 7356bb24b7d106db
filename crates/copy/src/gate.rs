//! A gate that lets one large value at a time through, so that memory stays bounded however many
//! connections there are.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Pairs and frames above this many bytes pass one at a time.
pub(crate) const LARGE_BYTES: usize = 4 << 20;

/// Above this many bytes no copy is held that can be read again.
pub(crate) const HUGE_BYTES: usize = 16 << 20;

/// The gate; clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    left: Mutex<usize>,
    freed: Condvar,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner {
            left: Mutex::new(1),
            freed: Condvar::new(),
        }
    }
}

/// The right to hold something large, until dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Gate,
}

impl Gate {
    /// Waits for the others.
    pub fn wait(&self) -> Permit {
        let mut left = self.left();
        while *left == 0 {
            let waited = self.inner.freed.wait(left);
            left = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *left -= 1;
        Permit { gate: self.clone() }
    }

    /// Does not wait.
    pub fn try_take(&self) -> Option<Permit> {
        let mut left = self.left();
        *left = left.checked_sub(1)?;
        Some(Permit { gate: self.clone() })
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        let left = self.inner.left.lock();
        left.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.gate.left() += 1;
        self.gate.inner.freed.notify_one();
    }
}
