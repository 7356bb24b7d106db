//! Work that goes on while its owner asks for nothing: whoever has a turn, or waits for one, must not keep it
//! from others by being left alone.

use std::future::Future;

use tokio::task::JoinHandle;

/// Such work. It ends with its owner.
pub(super) struct Apart<T>(JoinHandle<T>);

impl<T: 'static> Apart<T> {
    /// Begins it, on this thread's `LocalSet`.
    pub fn begin(work: impl Future<Output = T> + 'static) -> Apart<T> {
        Apart(tokio::task::spawn_local(work))
    }

    /// What came of it, once; `None` where it broke off. Given up while it waits, nothing is lost.
    pub async fn end(&mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Apart<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
