//! A gate that lets one large value at a time through, so that memory stays bounded however many
//! connections there are.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Pairs and frames above this many bytes pass one at a time.
pub(crate) const LARGE_BYTES: usize = 4 << 20;

/// Above this many bytes no copy is held that can be read again.
pub(crate) const HUGE_BYTES: usize = 16 << 20;

/// The gate; clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// The right to hold something large, until dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Gate,
}

impl Gate {
    /// Waits for the others.
    pub fn wait(&self) -> Permit {
        let mut taken = self
            .inner
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while *taken {
            let waited = self.inner.freed.wait(taken);
            taken = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *taken = true;
        Permit { gate: self.clone() }
    }

    /// Does not wait.
    pub fn try_take(&self) -> Option<Permit> {
        let mut taken = self
            .inner
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return None;
        }
        *taken = true;
        Some(Permit { gate: self.clone() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let inner = &self.gate.inner;
        *inner.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        inner.freed.notify_one();
    }
}
