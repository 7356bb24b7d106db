//! A sender of a link at a shard: the partitions that it sends, and batches on their way.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_metadata::LinkRecord;
use dunlin_node::Services;
use dunlin_proto::api::EntriesTaken;
use hyper::Method;
use tokio::time::{Instant, sleep};

use crate::answer::{Next, Trouble, next};
use crate::batch::{Builder, CONTENT_TYPE, Preamble};
use crate::gauge::Gauge;
use crate::place::first_replica;
use crate::times::Times;
use crate::transport::{Call, Transport};

/// Pauses after failures.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(100);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The sender of a link at a shard.
#[derive(Clone)]
pub(crate) struct Sender {
    pub services: Rc<Services>,
    pub keyspace: u32,
    pub link: LinkRecord,
    pub gauge: Rc<Gauge>,
    pub transport: Rc<dyn Transport>,
    pub times: Times,
}

/// A batch that the target has acknowledged.
pub(crate) struct Acknowledged {
    pub number: u64,
    pub payload_bytes: u64,
    pub count: u64,
    pub taken: EntriesTaken,
    /// When its entries that were written lately were logged, in milliseconds since 1970.
    pub logged_ms: Vec<u64>,
}

/// A batch that is to be sent.
pub(crate) struct Outgoing {
    pub number: u64,
    pub entries: Builder,
    /// When its first entry was read.
    pub read: Instant,
    /// Until when it may be logged.
    pub deadline: Version,
    /// It repairs the target.
    pub is_repair: bool,
}

impl Sender {
    /// Partitions of which this shard is the first replica that can be reached.
    pub fn leads(&self) -> Vec<u16> {
        let services = &self.services;
        let own = services.shard().address();
        let count = services.partition_count(self.keyspace).unwrap_or(0);
        let is_first =
            |partition: &u16| first_replica(services, self.keyspace, *partition) == Some(own);
        (0..count).filter(is_first).collect()
    }

    /// How many shards send.
    pub fn senders(&self) -> u64 {
        let services = &self.services;
        let count = services.partition_count(self.keyspace).unwrap_or(0);
        let first = |partition| first_replica(services, self.keyspace, partition);
        let mut all: Vec<_> = (0..count).filter_map(first).collect();
        all.sort_unstable();
        all.dedup();
        all.len().max(1) as u64
    }

    /// Sends a batch until it is acknowledged.
    pub async fn post(self, mut outgoing: Outgoing) -> Result<Acknowledged, Trouble> {
        let count = outgoing.entries.count as u64;
        let payload_bytes = outgoing.entries.payload_bytes;
        let logged_ms = std::mem::take(&mut outgoing.entries.logged_ms);
        let preamble = Preamble {
            cluster: self.services.cluster_number(),
            keyspace: self.link.keyspace_id,
            link: self.link.id,
            sent: Version::new(self.services.now_ms(), 0),
            deadline: outgoing.deadline,
            is_repair: outgoing.is_repair,
        };
        let body = outgoing.entries.finish(&preamble);
        let mut pause = PAUSE_MIN;
        loop {
            let trouble = match self.call(body.clone()).await {
                Next::GoOn(taken) => {
                    return Ok(Acknowledged {
                        number: outgoing.number,
                        payload_bytes,
                        count,
                        taken,
                        logged_ms,
                    });
                }
                Next::Restart(trouble) | Next::Stop(trouble) => return Err(trouble),
                Next::Again(trouble) => trouble,
                Next::Report(trouble) => match self.report().await {
                    Ok(()) => continue,
                    Err(line) => Trouble {
                        line: format!("{}; {line}", trouble.line),
                        ..trouble
                    },
                },
            };
            if outgoing.read.elapsed() + pause >= self.times.life {
                return Err(trouble);
            }
            self.gauge.fail(&trouble, self.services.now_ms());
            self.gauge.count(|counts| counts.retries += 1);
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn call(&self, body: Bytes) -> Next {
        let call = Call {
            content_type: CONTENT_TYPE,
            ..Call::of(&self.link, Method::POST, "entries", body)
        };
        match self.transport.call(call).await {
            Ok((status, body)) => next(status, &body),
            Err(line) => Next::Again(Trouble::waiting(line)),
        }
    }
}
