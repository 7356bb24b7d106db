//! `crates/rpc` as it is: a task for each outstanding call.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_rpc::{
    Caller, ConnectOptions, Inbox, Limits, QueueAddress, QueueOptions, Reply, Service,
    TcpTransport, Transport, connect, queue, serve_inbox, serve_stream,
};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::timeout;

use super::case::RESPONSE_BYTES;
use super::pair::{REQUEST, ServerSide};
use super::tally::{CallFigures, Tally};

/// No answer takes so long.
const TIMEOUT: Duration = Duration::from_secs(10);
const RESPONSE: Bytes = Bytes::from_static(&[b'r'; RESPONSE_BYTES]);

/// Answers calls, and takes notices.
struct Answers;

impl Service<Bytes, Bytes> for Answers {
    fn handle(&self, _: Bytes, reply: Reply<Bytes>) {
        reply.send(RESPONSE);
    }

    fn notice(&self, _: Bytes) {}
}

/// Runs a future with its tasks on this thread.
pub fn local<T>(run: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run)
}

/// Serves whatever connects, until the client has ended.
///
/// # Errors
/// When the address cannot be listened on.
pub fn serve(at: &str, side: ServerSide<String>) -> io::Result<()> {
    local(async {
        let mut listener = TcpTransport.listen(at).await?;
        side.serves(listener.local_addr()?);
        let accepting = async {
            loop {
                let (stream, _) = listener.accept().await?;
                let service = Rc::new(Answers);
                spawn_local(serve_stream(stream, service, |_| true, Limits::default()));
            }
        };
        tokio::select! {
            biased;
            _ = side.client => Ok(()),
            failed = accepting => failed,
        }
    })
}

/// The same for a queue between threads.
///
/// # Errors
/// When there is no runtime.
pub fn serve_queue(side: ServerSide<QueueAddress<Bytes, Bytes>>) -> io::Result<()> {
    let (address, inbox): (_, Inbox<Bytes, Bytes>) = queue(QueueOptions::default());
    local(async {
        side.serves(address);
        serve_inbox(inbox, Rc::new(Answers)).await;
        Ok(())
    })
}

/// Connections to a server, up.
///
/// # Errors
/// When one is not there in time.
async fn connections(at: &str, count: usize) -> io::Result<Vec<Caller<Bytes, Bytes>>> {
    let mut callers = Vec::new();
    for _ in 0..count {
        let options = ConnectOptions::default();
        let caller: Caller<Bytes, Bytes> =
            connect(Arc::new(TcpTransport), at, Bytes::new(), options);
        timeout(TIMEOUT, caller.connected()).await?;
        callers.push(caller);
    }
    Ok(callers)
}

/// Calls over so many connections, so many outstanding on each, before each call so many requests that are not answered.
///
/// # Errors
/// When a call fails.
pub fn call(
    at: &str,
    (count, depth): (usize, usize),
    notices: usize,
    tally: Tally,
) -> io::Result<Option<CallFigures>> {
    local(async {
        let callers = connections(at, count).await?;
        call_all(&callers, depth, notices, tally).await
    })
}

/// The same to a queue.
///
/// # Errors
/// When a call fails.
pub fn call_queue(
    address: &QueueAddress<Bytes, Bytes>,
    depth: usize,
    tally: Tally,
) -> io::Result<Option<CallFigures>> {
    local(async { call_all(&[address.caller()], depth, 0, tally).await })
}

async fn call_all(
    callers: &[Caller<Bytes, Bytes>],
    depth: usize,
    notices: usize,
    tally: Tally,
) -> io::Result<Option<CallFigures>> {
    let tally = Rc::new(tally);
    let mut outstanding = JoinSet::new();
    for caller in callers {
        for _ in 0..depth {
            outstanding.spawn_local(one_by_one(caller.clone(), tally.clone(), notices));
        }
    }
    ended(outstanding, &tally).await
}

/// The figures, once all have ended.
///
/// # Errors
/// That of the first that fails.
pub async fn ended(
    mut outstanding: JoinSet<io::Result<()>>,
    tally: &Tally,
) -> io::Result<Option<CallFigures>> {
    while let Some(ended) = outstanding.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(tally.figures())
}

/// One call after the other, before each so many requests that are not answered.
///
/// # Errors
/// When a call fails.
async fn one_by_one(
    caller: Caller<Bytes, Bytes>,
    tally: Rc<Tally>,
    notices: usize,
) -> io::Result<()> {
    loop {
        let began = Instant::now();
        for _ in 0..notices {
            caller.notify(REQUEST).map_err(io::Error::other)?;
        }
        let answer = caller.call(REQUEST, TIMEOUT).await;
        let answer = answer.map_err(io::Error::other)?;
        if answer != RESPONSE {
            return Err(io::Error::other("another answer than was sent"));
        }
        if !tally.add(began) {
            return Ok(());
        }
    }
}
