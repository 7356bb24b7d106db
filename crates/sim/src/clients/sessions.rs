//! Clients of transactions over several requests: they read, scan, and append to lists; and they insert rows, in numbers
//! that only a scan tells: the rows are one more list.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_history::{Outcome, Step};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use tokio::time::sleep;

use super::txns::{LISTS, home, list_in, name, note, over_http, text_of};
use super::{IDLE, Nodes, next_step};
use crate::harness::ask::Told;
use crate::harness::host::Shared;
use crate::plan::{Plan, pick};

/// Where all lists and rows are.
const KEYSPACE: &str = "keyspaces/range/keys";
/// The list that the rows are.
pub(super) const ROWS: &str = "rows";
/// How often it is asked what became of a commit.
const ASKED_MAX: u32 = 6;

/// The first of their numbers in histories.
const PROCESS: u64 = 100;

/// Whether this is the number of such a client.
pub fn is_session(process: u64) -> bool {
    (PROCESS..1_000).contains(&process)
}

/// One client.
pub struct Client {
    number: usize,
    shared: Rc<Shared>,
    nodes: Nodes,
    random: StdRng,
}

/// A transaction that is open.
struct Session {
    id: String,
    steps: Vec<Step>,
    /// The key that it wrote first.
    first: Option<String>,
}

/// It was not answered, or refused: nothing was committed.
pub(super) struct Lost;

/// The steps of a scan that has found these lists; the rows in order.
pub(super) fn scanned(
    plan: &Plan,
    mut found: BTreeMap<String, Vec<u64>>,
    steps: &mut Vec<Step>,
) -> Result<Vec<u64>, Lost> {
    for key in (0..LISTS).filter(|key| home(plan, *key) == "range") {
        let list = found.remove(&name(key)).unwrap_or_default();
        steps.push(Step::Read(name(key), list));
    }
    let mut rows = BTreeMap::new();
    for (key, list) in found {
        let digits = key.rsplit('-').next();
        let number = digits.and_then(|digits| digits.parse::<u64>().ok());
        rows.insert(number.ok_or(Lost)?, list);
    }
    let rows: Vec<u64> = rows.into_values().flatten().collect();
    steps.push(Step::Read(ROWS.to_owned(), rows.clone()));
    Ok(rows)
}

/// One of the lists that are in the keyspace of all rows.
pub(super) fn list_here(shared: &Shared, random: &mut StdRng) -> u16 {
    let key = random.random_range(0..LISTS);
    match home(&shared.plan, key) {
        "range" => key,
        _ => key - key % 3,
    }
}

impl Client {
    /// The client with this number.
    pub fn new(number: usize, shared: Rc<Shared>, nodes: Nodes) -> Client {
        let seed = shared.plan.seed ^ 0x7365_7373 ^ (number as u64 + 1) << 40;
        Client {
            number,
            random: StdRng::seed_from_u64(seed),
            shared,
            nodes,
        }
    }

    /// Goes on for ever.
    pub async fn work(mut self) {
        loop {
            next_step(&self.shared, &mut self.random, 250).await;
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let shared = self.shared.clone();
        let invoked = shared.ranges.moment();
        let Ok(mut session) = self.begin().await else {
            return;
        };
        let done = match self.random.random_range(0..3) {
            0 => self.read_and_append(&mut session).await,
            1 => self.scan_and_insert(&mut session).await,
            _ => self.scan(&mut session).await.map(|_| ()),
        };
        // It may forget what it began.
        let is_left = self.random.random_bool(0.05);
        let outcome = match done {
            Ok(()) if !is_left => self.commit(&session).await,
            _ => Outcome::Failed,
        };
        let process = PROCESS + self.number as u64;
        note(
            &shared,
            "session",
            (process, invoked),
            session.steps,
            outcome,
        );
    }

    async fn begin(&mut self) -> Result<Session, Lost> {
        let told = self.ask("POST /v1/txn/begin".to_owned(), Bytes::new());
        let told: Value = match told.await {
            Some((201, body)) => serde_json::from_slice(&body).map_err(|_| Lost)?,
            _ => return Err(Lost),
        };
        Ok(Session {
            id: told["id"].as_str().ok_or(Lost)?.to_owned(),
            steps: Vec::new(),
            first: None,
        })
    }

    async fn read_and_append(&mut self, session: &mut Session) -> Result<(), Lost> {
        let mut keys: Vec<u16> = (0..2).map(|_| self.list()).collect();
        keys.dedup();
        for key in keys {
            let is_locked = session.steps.is_empty() && self.random.random_bool(0.5);
            let query = if is_locked { "?lock=true" } else { "" };
            let line = format!("GET /v1/txn/{}/{KEYSPACE}/{}{query}", session.id, name(key));
            let list = match self.ask(line, Bytes::new()).await {
                Some((200, body)) => list_in(&String::from_utf8_lossy(&body)),
                Some((404, _)) => Vec::new(),
                _ => return Err(Lost),
            };
            session.steps.push(Step::Read(name(key), list.clone()));
            self.append(session, name(key), list).await?;
        }
        Ok(())
    }

    fn list(&mut self) -> u16 {
        list_here(&self.shared, &mut self.random)
    }

    /// Reads everything that is there, by one scan.
    async fn scan(&mut self, session: &mut Session) -> Result<Vec<u64>, Lost> {
        let line = format!("GET /v1/txn/{}/{KEYSPACE}?prefix=list/", session.id);
        let Some((200, body)) = self.ask(line, Bytes::new()).await else {
            return Err(Lost);
        };
        let mut found = BTreeMap::new();
        for line in String::from_utf8_lossy(&body).lines() {
            let told: Value = serde_json::from_str(line).map_err(|_| Lost)?;
            let text = |of: &str| told[of].as_str().unwrap_or_default().to_owned();
            found.insert(text("key"), list_in(&text("value")));
        }
        let rows = scanned(&self.shared.plan, found, &mut session.steps)?;
        Ok(rows)
    }

    /// Inserts a row behind all there are, and appends to a list.
    async fn scan_and_insert(&mut self, session: &mut Session) -> Result<(), Lost> {
        let rows = self.scan(session).await?;
        let value = self.shared.next_range_value();
        session.steps.push(Step::Append(ROWS.to_owned(), value));
        let number = rows.len();
        let row = format!("list/{}/row-{number}", number % 3);
        self.put(session, row, text_of(&[value])).await?;
        if self.random.random_bool(0.5) {
            let key = name(self.list());
            let read = session.steps.iter().find_map(|step| match step {
                Step::Read(of, list) if *of == key => Some(list.clone()),
                _ => None,
            });
            self.append(session, key, read.ok_or(Lost)?).await?;
        }
        Ok(())
    }

    async fn append(
        &mut self,
        session: &mut Session,
        key: String,
        mut list: Vec<u64>,
    ) -> Result<(), Lost> {
        let value = self.shared.next_range_value();
        session.steps.push(Step::Append(key.clone(), value));
        list.push(value);
        self.put(session, key, text_of(&list)).await
    }

    async fn put(&mut self, session: &mut Session, key: String, value: String) -> Result<(), Lost> {
        let line = format!("PUT /v1/txn/{}/{KEYSPACE}/{key}", session.id);
        session.first.get_or_insert(key);
        match self.ask(line, value.into()).await {
            Some((202, _)) => Ok(()),
            _ => Err(Lost),
        }
    }

    /// Commits it. Where that is not answered it is asked for by the key that was written first.
    async fn commit(&mut self, session: &Session) -> Outcome {
        let first = session.first.as_ref();
        let query = first.map_or_else(String::new, |key| format!("?first=range/{key}"));
        let mut line = format!("POST /v1/txn/{}/commit{query}", session.id);
        for _ in 0..ASKED_MAX {
            let told = self.ask(line.clone(), Bytes::new()).await;
            let text = |body: &Bytes| String::from_utf8_lossy(body).into_owned();
            match told {
                Some((200, body)) if text(&body).contains("\"committed\"") => {
                    let returned = self.shared.ranges.moment();
                    return Outcome::Ok { returned };
                }
                Some((409, _)) => return Outcome::Failed,
                Some((200 | 410, body)) if text(&body).contains("aborted") => {
                    return Outcome::Failed;
                }
                // What only read has no record.
                Some((410, _)) if first.is_none() => return Outcome::Failed,
                _ => {}
            }
            if first.is_none() {
                return Outcome::Failed;
            }
            // Either is answered truly; only the second ends it.
            line = if self.random.random_bool(0.5) {
                format!("GET /v1/txn/{}{query}", session.id)
            } else {
                format!("POST /v1/txn/{}/commit{query}", session.id)
            };
            sleep(IDLE).await;
        }
        Outcome::Unknown { until: None }
    }

    async fn ask(&mut self, line: String, body: Bytes) -> Option<(u16, Bytes)> {
        let timeout_ms = *pick(&mut self.random, &[400, 2_000, 6_000]);
        let host = self.random.random_range(0..self.nodes.len());
        let asked = over_http(line, body);
        let told = self.nodes[host].call(asked, Duration::from_millis(timeout_ms));
        match told.await {
            Ok(Told::Http(status, body)) => Some((status, body)),
            _ => None,
        }
    }
}
