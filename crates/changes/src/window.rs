//! How much of a stream its connection has and has not sent: no more is made until that has gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::outbox::PIECE_BYTES;

/// Bytes that are not sent.
#[derive(Debug, Default)]
pub(crate) struct Window {
    bytes: AtomicUsize,
    gone: Notify,
}

/// A piece that counts until the connection has sent it.
struct Counted {
    piece: Bytes,
    window: Arc<Window>,
}

impl Window {
    /// Waits until there is room for another piece.
    pub async fn room(&self) {
        loop {
            let gone = self.gone.notified();
            if self.bytes.load(Relaxed) < PIECE_BYTES {
                return;
            }
            gone.await;
        }
    }

    /// Counts a piece until it is dropped.
    pub fn count(self: &Arc<Window>, piece: Bytes) -> Bytes {
        self.bytes.fetch_add(piece.len(), Relaxed);
        let window = self.clone();
        Bytes::from_owner(Counted { piece, window })
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.window.bytes.fetch_sub(self.piece.len(), Relaxed);
        self.window.gone.notify_waiters();
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
