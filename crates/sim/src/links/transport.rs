//! Requests from one cluster to another, over the simulated network.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dunlin_links::{Answered, Call, Connect, Times, Transport};
use dunlin_node::http::LocalFuture;
use dunlin_rpc::{Caller, ConnectOptions, connect};

use crate::harness::ask::{Ask, Told, Verb, of_verb};
use crate::harness::front;
use crate::harness::transport::SimTransport;

/// How long one server is waited for.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes of a batch without entries.
const EMPTY_BATCH_BYTES: usize = 46;

/// Makes the transports of a run.
#[derive(Debug, Default)]
pub struct SimLines {
    /// Batches with entries that were sent.
    pub batches: Arc<AtomicU64>,
    /// How long things take.
    pub times: Times,
    /// How far off clocks of other nodes may be that a node puts up with, in milliseconds.
    pub clock_bound_ms: u64,
}

impl Connect for SimLines {
    fn transport(&self) -> Rc<dyn Transport> {
        Rc::new(Line {
            callers: RefCell::default(),
            batches: self.batches.clone(),
        })
    }
}

/// Requests of one shard.
struct Line {
    /// By the name of the host.
    callers: RefCell<BTreeMap<String, Caller<Ask, Told>>>,
    batches: Arc<AtomicU64>,
}

impl Line {
    fn caller(&self, server: &str) -> Caller<Ask, Told> {
        let mut callers = self.callers.borrow_mut();
        let caller = callers.entry(server.to_owned());
        caller.or_insert_with(|| caller_of(server)).clone()
    }
}

/// A line to a host, from the host it is called on.
pub fn caller_of(host: &str) -> Caller<Ask, Told> {
    let options = ConnectOptions {
        seed: host.bytes().map(u64::from).sum(),
        backoff_max: Duration::from_millis(300),
        ..ConnectOptions::default()
    };
    let address = format!("{host}:{}", front::PORT);
    connect(Arc::new(SimTransport), address, Bytes::new(), options)
}

impl Transport for Line {
    fn call(&self, call: Call) -> LocalFuture<Answered> {
        if call.target.ends_with("/entries") && call.body.len() > EMPTY_BATCH_BYTES {
            self.batches.fetch_add(1, Ordering::Relaxed);
        }
        let callers: Vec<_> = call.servers.iter().map(|s| self.caller(s)).collect();
        Box::pin(async move {
            let mut last = Err("there is no server".to_owned());
            for caller in callers {
                let answer = ask_http(
                    &caller,
                    &call.method,
                    &call.target,
                    call.body.clone(),
                    TIMEOUT,
                );
                last = match answer.await {
                    Ok((429 | 502..=504, body)) => Ok((503, body)),
                    Ok(answer) => return Ok(answer),
                    Err(line) => Err(line),
                };
            }
            last
        })
    }
}

/// A request as over HTTP: status and body.
pub async fn ask_http(
    caller: &Caller<Ask, Told>,
    method: impl std::fmt::Display,
    target: &str,
    body: Bytes,
    wait: Duration,
) -> Result<(u16, Bytes), String> {
    let verb = Verb::Http(format!("{method} {target}"), body);
    match caller.call(of_verb(verb), wait).await {
        Ok(Told::Http(status, body)) => Ok((status, body)),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}
