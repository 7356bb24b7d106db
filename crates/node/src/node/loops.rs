//! Event loops: the threads that shards run on.

use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::env::LocalFuture;

/// Makes a shard's life on the thread it is called on.
pub(crate) type Birth = Box<dyn FnOnce() -> LocalFuture<()> + Send>;

/// A process's event loops, started as shards need them. Clones are the same loops; each ends when
/// the last clone is gone and its shards have ended.
#[derive(Clone)]
pub(crate) struct EventLoops {
    most: usize,
    started: Arc<Mutex<Vec<EventLoop>>>,
}

struct EventLoop {
    births: UnboundedSender<Birth>,
    shards: usize,
}

impl EventLoops {
    /// At most `most` threads, at least one.
    pub fn new(most: usize) -> EventLoops {
        EventLoops {
            most: most.max(1),
            started: Arc::default(),
        }
    }

    /// Puts a shard on a loop of its own while there are any left, else beside the fewest others.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn place(&self, birth: Birth) -> io::Result<()> {
        let mut loops = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if loops.len() < self.most {
            let number = loops.len() + 1;
            loops.push(EventLoop {
                births: start(number)?,
                shards: 0,
            });
        }
        let Some(least) = loops.iter_mut().min_by_key(|each| each.shards) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        least.shards += 1;
        least
            .births
            .send(birth)
            .map_err(|_| io::Error::other("an event loop has ended"))
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the simulation has no threads and opens shards directly"
)]
fn start(number: usize) -> io::Result<UnboundedSender<Birth>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (sender, births) = mpsc::unbounded_channel();
    thread::Builder::new()
        .name(format!("loop-{number}"))
        .spawn(move || runtime.block_on(run(births)))?;
    Ok(sender)
}

async fn run(mut births: UnboundedReceiver<Birth>) {
    let mut shards = FuturesUnordered::new();
    loop {
        tokio::select! {
            birth = births.recv() => match birth {
                Some(birth) => shards.push(birth()),
                None => break,
            },
            Some(()) = shards.next() => {}
        }
    }
    while shards.next().await.is_some() {}
}
