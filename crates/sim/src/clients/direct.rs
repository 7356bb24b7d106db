//! Clients of transactions without HTTP between: they keep what they have read and will write, and each has its own
//! connections.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_history::{Outcome, Step};
use dunlin_message::Message;
use dunlin_node::Clock;
use dunlin_proto::{
    DirectCommit, DirectId, DirectKey, DirectReply, DirectRequest, DirectResponse, DirectSpan,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::sleep;

use super::sessions::{Lost, ROWS, list_here, scanned};
use super::txns::{list_in, name, note, text_of};
use super::{IDLE, Nodes, caller, next_step};
use crate::harness::ask::{Told, Verb, of_verb};
use crate::harness::clock::SimClock;
use crate::harness::host::Shared;
use crate::plan::pick;

/// Where all lists and rows are.
const KEYSPACE: &str = "range";
/// The first of their numbers in histories.
const PROCESS: u64 = 3_000;
/// How often an outcome is requested.
const OUTCOMES_MAX: u32 = 6;

/// Whether this is the number of such a client.
pub fn is_direct(process: u64) -> bool {
    process >= PROCESS
}

/// One client.
pub struct DirectClient {
    number: usize,
    shared: Rc<Shared>,
    clock: SimClock,
    nodes: Nodes,
    random: StdRng,
}

/// A transaction that is open.
struct Open {
    /// The node that it speaks to.
    host: usize,
    at: Option<Version>,
    reads: BTreeMap<DirectKey, Option<Version>>,
    scans: Vec<DirectSpan>,
    /// In the order in which it wrote.
    writes: Vec<(DirectKey, Option<Bytes>)>,
    steps: Vec<Step>,
}

fn key_of(name: &str) -> DirectKey {
    DirectKey {
        keyspace: KEYSPACE.into(),
        key: Bytes::copy_from_slice(name.as_bytes()),
    }
}

impl DirectClient {
    /// The client with this number.
    pub fn new(number: usize, shared: Rc<Shared>, clock: SimClock) -> DirectClient {
        let seed = shared.plan.seed ^ 0x6469_7265 ^ (number as u64 + 1) << 40;
        let machines = 0..shared.plan.machines();
        let nodes = Rc::new(machines.map(|host| caller(&shared, host)).collect());
        DirectClient {
            number,
            random: StdRng::seed_from_u64(seed),
            shared,
            clock,
            nodes,
        }
    }

    /// Goes on for ever.
    pub async fn work(mut self) {
        loop {
            next_step(&self.shared, &mut self.random, 200).await;
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let shared = self.shared.clone();
        let invoked = shared.ranges.moment();
        let mut open = Open {
            host: self.host(),
            at: None,
            reads: BTreeMap::new(),
            scans: Vec::new(),
            writes: Vec::new(),
            steps: Vec::new(),
        };
        let done = match self.random.random_range(0..4) {
            0 | 1 => self.read_and_append(&mut open).await,
            2 => self.scan_and_insert(&mut open).await,
            _ => self.scan(&mut open).await.map(|_| ()),
        };
        // It may forget what it began.
        let is_left = self.random.random_bool(0.05);
        let outcome = match done {
            Ok(()) if !is_left => self.commit(&mut open).await,
            _ => Outcome::Failed,
        };
        let process = PROCESS + self.number as u64;
        note(&shared, "direct", (process, invoked), open.steps, outcome);
    }

    fn host(&mut self) -> usize {
        self.random.random_range(0..self.nodes.len())
    }

    /// Reads two lists, together or one after the other, and appends to them.
    async fn read_and_append(&mut self, open: &mut Open) -> Result<(), Lost> {
        let keys: BTreeSet<u16> = (0..2)
            .map(|_| list_here(&self.shared, &mut self.random))
            .collect();
        let keys: Vec<String> = keys.into_iter().map(name).collect();
        if self.random.random_bool(0.5) {
            let lists = self.read(open, &keys, false).await?;
            for (key, list) in keys.into_iter().zip(lists) {
                self.append(open, key, list);
            }
            return Ok(());
        }
        for key in keys {
            let lock = open.steps.is_empty() && self.random.random_bool(0.5);
            let keys = [key];
            let lists = self.read(open, &keys, lock).await?;
            let [key] = keys;
            self.append(open, key, lists.into_iter().next().unwrap_or_default());
        }
        Ok(())
    }

    async fn read(
        &mut self,
        open: &mut Open,
        names: &[String],
        lock: bool,
    ) -> Result<Vec<Vec<u64>>, Lost> {
        let keys: Vec<DirectKey> = names.iter().map(|name| key_of(name)).collect();
        let request = DirectRequest::Read {
            at: open.at,
            lock,
            keys: keys.clone(),
        };
        let Some(DirectResponse::Values(at, values)) = self.ask(open.host, &request).await else {
            return Err(Lost);
        };
        open.at = Some(at);
        let mut lists = Vec::new();
        for ((name, key), value) in names.iter().zip(keys).zip(values) {
            let text = value.as_ref().map_or(&b""[..], |(_, value)| value);
            let list = list_in(&String::from_utf8_lossy(text));
            open.reads.insert(key, value.map(|(version, _)| version));
            open.steps.push(Step::Read(name.clone(), list.clone()));
            lists.push(list);
        }
        Ok(lists)
    }

    /// Reads everything that is there, page by page.
    async fn scan(&mut self, open: &mut Open) -> Result<Vec<u64>, Lost> {
        let whole = DirectSpan {
            keyspace: KEYSPACE.to_owned(),
            start: Bytes::from_static(b"list/"),
            end: Some(Bytes::from_static(b"list0")),
        };
        let (mut found, mut next) = (BTreeMap::new(), Some(whole.start.clone()));
        while let Some(start) = next {
            let request = DirectRequest::Page {
                at: open.at,
                span: DirectSpan {
                    start,
                    ..whole.clone()
                },
                limit: *pick(&mut self.random, &[2, 7, 1_000]),
            };
            let Some(DirectResponse::Page(at, rows, rest)) = self.ask(open.host, &request).await
            else {
                return Err(Lost);
            };
            open.at = Some(at);
            for (key, _, value) in rows {
                let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
                found.insert(text(&key), list_in(&text(&value)));
            }
            next = rest;
        }
        open.scans.push(whole);
        let rows = scanned(&self.shared.plan, found, &mut open.steps)?;
        Ok(rows)
    }

    /// Inserts a row behind all there are.
    async fn scan_and_insert(&mut self, open: &mut Open) -> Result<(), Lost> {
        let rows = self.scan(open).await?;
        let value = self.shared.next_range_value();
        open.steps.push(Step::Append(ROWS.to_owned(), value));
        let number = rows.len();
        let row = format!("list/{}/row-{number}", number % 3);
        open.writes
            .push((key_of(&row), Some(text_of(&[value]).into())));
        Ok(())
    }

    fn append(&mut self, open: &mut Open, key: String, mut list: Vec<u64>) {
        let value = self.shared.next_range_value();
        list.push(value);
        open.writes
            .push((key_of(&key), Some(text_of(&list).into())));
        open.steps.push(Step::Append(key, value));
    }

    /// Commits it, sometimes over another connection than it has read over. Where that is not answered its outcome is
    /// requested, by the key that was written first.
    async fn commit(&mut self, open: &mut Open) -> Outcome {
        let Some((first, _)) = open.writes.first().cloned() else {
            let returned = self.shared.ranges.moment();
            return Outcome::Ok { returned };
        };
        let id = DirectId {
            ms: self.clock.now_ms(),
            number: self.random.random(),
        };
        let commit = DirectRequest::Commit(DirectCommit {
            at: open.at,
            reads: std::mem::take(&mut open.reads).into_iter().collect(),
            scans: std::mem::take(&mut open.scans),
            writes: std::mem::take(&mut open.writes),
            id,
        });
        if self.random.random_bool(0.2) {
            open.host = self.host();
        }
        let mut answer = self.ask(open.host, &commit).await;
        if let Some(DirectResponse::Refused(400, _)) = answer {
            return Outcome::Failed;
        }
        for _ in 0..OUTCOMES_MAX {
            match answer {
                Some(DirectResponse::Committed(_)) => {
                    let returned = self.shared.ranges.moment();
                    return Outcome::Ok { returned };
                }
                Some(DirectResponse::Refused(409, _)) => return Outcome::Failed,
                // A node whose clock is wrong refuses to look for an outcome.
                _ => {}
            }
            sleep(IDLE).await;
            let outcome = DirectRequest::Outcome {
                id,
                first: first.clone(),
            };
            let host = self.host();
            answer = self.ask(host, &outcome).await;
        }
        Outcome::Unknown { until: None }
    }

    async fn ask(&mut self, host: usize, request: &DirectRequest) -> Option<DirectResponse> {
        let timeout_ms = *pick(&mut self.random, &[400, 2_000, 6_000]);
        let mut bytes = BytesMut::new();
        request.encode(&mut bytes);
        let ask = of_verb(Verb::Direct(bytes.freeze()));
        let replied = self.nodes[host].call(ask, Duration::from_millis(timeout_ms));
        match replied.await {
            Ok(Told::Direct(bytes)) => Some(DirectReply::decode(bytes).ok()?.response),
            _ => None,
        }
    }
}
