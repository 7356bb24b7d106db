//! Direct transactions for programs with several threads.

use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

use super::{Direct, DirectTransaction};
use crate::client::Client;
use crate::error::ClientError;

/// Something to do with the connections of the thread.
type Job = Box<dyn FnOnce(Direct) + Send>;

/// A thread with a [`Direct`], for those that must be `Send`: clones share it, and it ends with the last of them.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = dunlin_client::Client::new("http://127.0.0.1:8080")?;
/// let bank = client.direct_thread()?;
/// let balance = bank.transact(async |txn| txn.get("bank", b"ann").await).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct DirectThread(mpsc::UnboundedSender<Job>);

impl Client {
    /// Starts a thread for transactions without HTTP between. It connects with the first request.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn direct_thread(&self) -> io::Result<DirectThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (jobs, mut queue) = mpsc::unbounded_channel::<Job>();
        let client = self.clone();
        let serve = move || {
            let tasks = LocalSet::new();
            tasks.block_on(&runtime, async {
                let direct = client.direct();
                while let Some(job) = queue.recv().await {
                    job(direct.clone());
                }
            });
        };
        thread::Builder::new()
            .name("dunlin-direct".to_owned())
            .spawn(serve)?;
        Ok(DirectThread(jobs))
    }
}

impl DirectThread {
    /// Does what `body` does with a transaction as one, as [`Direct::transact`]. It runs on the thread, beside others; dropped
    /// before its end, it goes on there.
    ///
    /// # Errors
    /// As [`Direct::transact`], and [`ClientError::Ambiguous`] where `body` panics.
    pub async fn transact<T: Send + 'static>(
        &self,
        body: impl AsyncFnMut(DirectTransaction) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, ClientError> {
        let (answer, answered) = oneshot::channel();
        let job = move |direct: Direct| {
            spawn_local(async move {
                drop(answer.send(direct.transact(body).await));
            });
        };
        let gone = || ClientError::Ambiguous {
            server: String::new(),
            reason: "it panicked, or the thread of this client has ended".to_owned(),
        };
        self.0.send(Box::new(job)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}
