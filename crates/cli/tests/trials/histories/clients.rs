//! Clients that write and read a few keys over and over, all of them the same ones, and take down
//! what they asked and were told.
//!
//! A *plain* client gives up after a moment, takes what it asked for unknown, and goes on. A *careful*
//! one tells with each attempt until when it may be stamped (`Dunlin-Deadline`), tries again through
//! another node above what it gave up (`Dunlin-After`), and so knows: what it gave up does not
//! happen any more once a later write of its own to that key is acknowledged. *Ours* is
//! `dunlin-client`, which is careful by itself and tells of its attempts only how the last one ended.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use dunlin_client::{Client, Quorum, WriteOptions};
use dunlin_history::{
    Call, Kind, Limits, Operation, Outcome, Recorder, Value, check, grant_again, to_lines,
};

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::{Flock, entity};
use crate::harness::random::Random;
use crate::harness::wire::Wire;

/// When a client gives a request up.
const PATIENCE: Duration = Duration::from_millis(700);
/// How long an attempt of a careful client may be stamped.
const DEADLINE_MS: u64 = 600;
/// How far ahead a careful client lets its writes be stamped.
const AHEAD_MS: u64 = 2_000;
/// How often a careful client tries.
const ATTEMPTS: usize = 3;

/// Clients at work; what they do is recorded.
pub struct Clients {
    recorder: Recorder,
    last_value: AtomicU64,
    stop: AtomicBool,
    addresses: Vec<SocketAddr>,
    keys: usize,
    value_bytes: usize,
}

impl Clients {
    pub fn new(addresses: &[SocketAddr], keys: usize) -> Clients {
        Clients {
            recorder: Recorder::default(),
            last_value: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            addresses: addresses.to_owned(),
            keys,
            value_bytes: 100,
        }
    }

    pub fn value_bytes(mut self, bytes: usize) -> Clients {
        self.value_bytes = bytes;
        self
    }

    /// Runs so many plain, careful, and our own clients while `trouble` goes on.
    pub fn run(&self, counts: [usize; 3], random: &mut Random, trouble: impl FnOnce()) {
        self.stop.store(false, Ordering::Relaxed);
        let manners = [Manner::Plain, Manner::Careful, Manner::Ours];
        let manners = manners.into_iter().zip(counts);
        let manners = manners.flat_map(|(manner, count)| std::iter::repeat_n(manner, count));
        std::thread::scope(|scope| {
            for (process, manner) in manners.enumerate() {
                let worker = Worker::new(self, process as u64, manner, random.next());
                scope.spawn(move || match manner {
                    Manner::Ours => worker.run_ours(),
                    Manner::Plain | Manner::Careful => worker.run(),
                });
            }
            // A panic here must not leave the clients running for ever.
            let done = catch_unwind(AssertUnwindSafe(trouble));
            self.stop.store(true, Ordering::Relaxed);
            if let Err(panic) = done {
                resume_unwind(panic);
            }
        });
    }

    /// What is there in the end, read through every node; and each replica by itself must come to
    /// hold the same.
    pub fn settle(&self, flock: &Flock) {
        for key in 0..self.keys {
            let key = name(key);
            for node in &flock.nodes {
                let call = self.recorder.begin(1_000, &key, Kind::Get(None));
                let call = call.note(format!("at the end, {}", node.name));
                let answer = node.get(&key, "");
                assert!(matches!(answer.status, 200 | 404), "{key}: {answer:?}");
                call.found(value_of(answer.status, &answer.body));
            }
            eventually(
                "all replicas hold the same",
                Duration::from_secs(20),
                || {
                    let found = |rest| {
                        let nodes = flock.nodes.iter();
                        nodes
                            .map(|node| node.get(&key, rest))
                            .map(|answer| (answer.status, answer.body))
                            .collect::<Vec<_>>()
                    };
                    let alone = found("&ack=1");
                    alone.windows(2).all(|two| two[0] == two[1]) && alone == found("&ack=3")
                },
            );
        }
    }

    /// Everything so far.
    pub fn operations(&self) -> Vec<Operation> {
        self.recorder.operations()
    }

    /// The history must be linearizable, and tell something: at least `writes` acknowledged.
    pub fn judge(&self, name: &str, writes: usize) {
        let operations = self.operations();
        let count =
            |wanted: fn(&Operation) -> bool| operations.iter().filter(|o| wanted(o)).count();
        let written = count(|o| !matches!(o.kind, Kind::Get(_)) && is_ok(o));
        println!(
            "{name}: {written} writes, {} reads, {} of unknown outcome, {} refused",
            count(|o| matches!(o.kind, Kind::Get(_)) && is_ok(o)),
            count(|o| matches!(o.outcome, Outcome::Unknown { .. })),
            count(|o| o.outcome == Outcome::Failed),
        );
        let mut report = check(&operations, Limits::default());
        if !report.violations.is_empty() {
            // A write under way that meets a newer one, or loses its coordinator, is stamped again
            // (decision 26): until it is acknowledged it may be seen, be covered, and be seen again.
            let keys: Vec<String> = report.violations.iter().map(|v| v.key.clone()).collect();
            println!("stamped again, or worse: {keys:?}");
            grant_again(&mut report, &operations, |_| false, Limits::default());
        }
        println!("{report}");
        if !report.is_linearizable() {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
            std::fs::write(&file, to_lines(&operations)).unwrap();
            panic!("{report}\nthe history is in {}", file.display());
        }
        assert!(written >= writes, "hardly any load: {written}");
    }
}

pub fn is_ok(operation: &Operation) -> bool {
    matches!(operation.outcome, Outcome::Ok { .. })
}

pub fn name(key: usize) -> String {
    format!("register-{key}")
}

/// A value as it is stored: its number, and dots.
pub fn bytes_of(value: Value, bytes: usize) -> Vec<u8> {
    format!("{value} {:.<1$}", "", bytes.saturating_sub(8)).into_bytes()
}

/// What an answer to a get says; anything no client wrote is a value no client wrote.
pub fn value_of(status: u16, body: &[u8]) -> Option<Value> {
    let number = || {
        let text = std::str::from_utf8(body).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    (status == 200).then(|| number().unwrap_or(u64::from(u32::MAX)))
}

/// Headers of an attempt that may be stamped until `deadline_ms`, and above `after_ms`.
pub fn times(deadline_ms: u64, after_ms: u64) -> String {
    match after_ms {
        0 => format!("Dunlin-Deadline: {deadline_ms}\r\n"),
        _ => format!("Dunlin-Deadline: {deadline_ms}\r\nDunlin-After: {after_ms}\r\n"),
    }
}

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Plain,
    Careful,
    Ours,
}

struct Worker<'a> {
    all: &'a Clients,
    process: u64,
    manner: Manner,
    random: Random,
    wires: Vec<Option<Wire>>,
    /// The greatest deadline of attempts given up.
    floor_ms: u64,
    /// How far the servers' clock is ahead of ours.
    server_ahead_ms: u64,
    /// Attempts given up, by their keys.
    given_up: HashMap<String, Vec<Call<'a>>>,
}

impl<'a> Worker<'a> {
    fn new(all: &'a Clients, process: u64, manner: Manner, seed: u64) -> Worker<'a> {
        Worker {
            all,
            process,
            manner,
            random: Random::new(seed),
            wires: all.addresses.iter().map(|_| None).collect(),
            floor_ms: 0,
            server_ahead_ms: 0,
            given_up: HashMap::new(),
        }
    }

    fn run(mut self) {
        while let Some((key, kind)) = self.choose() {
            match kind {
                Kind::Get(_) => self.read(&key),
                _ => self.write(&key, kind),
            }
            std::thread::sleep(self.random.millis(0, 4));
        }
    }

    /// What to do next; `None` when it is time to stop.
    fn choose(&mut self) -> Option<(String, Kind)> {
        let key = name(self.random.below(self.all.keys));
        let kind = match self.random.below(10) {
            0..4 => Kind::Get(None),
            4 => Kind::Delete,
            _ => Kind::Put(self.all.last_value.fetch_add(1, Ordering::Relaxed) + 1),
        };
        (!self.all.stop.load(Ordering::Relaxed)).then_some((key, kind))
    }

    /// By `dunlin-client`, each beginning with another server.
    fn run_ours(mut self) {
        let first = self.process as usize % self.all.addresses.len();
        let servers = self.all.addresses.iter().cycle().skip(first);
        let servers = servers.take(self.all.addresses.len());
        let servers: Vec<String> = servers.map(|address| format!("http://{address}")).collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let client = Client::with_timeout(&servers.join(","), 2 * PATIENCE).unwrap();
        let store = client.keyspace("default");
        while let Some((key, kind)) = self.choose() {
            let call = self
                .all
                .recorder
                .begin(self.process, &key, kind)
                .note("dunlin-client");
            let options = WriteOptions::default();
            runtime.block_on(async {
                match kind {
                    Kind::Put(value) => {
                        let bytes = bytes_of(value, self.all.value_bytes);
                        if store
                            .put(key.as_bytes(), bytes.into(), &options)
                            .await
                            .is_ok()
                        {
                            call.ok();
                        }
                    }
                    Kind::Get(_) => {
                        if let Ok(found) = store.get(key.as_bytes(), Quorum::default()).await {
                            let body = found.as_ref().map(|found| &found.bytes[..]);
                            call.found(body.and_then(|body| value_of(200, body)));
                        }
                    }
                    _ => {
                        if store.delete(key.as_bytes(), &options).await.is_ok() {
                            call.ok();
                        }
                    }
                }
            });
            std::thread::sleep(self.random.millis(0, 4));
        }
    }

    fn read(&mut self, key: &str) {
        let node = self.random.below(self.wires.len());
        let Some(mut wire) = self.wire(node) else {
            return;
        };
        let call = self.begin(key, Kind::Get(None), node);
        let answer = wire.try_request("GET", &entity(key, ""), b"");
        if let Ok(answer) = &answer
            && matches!(answer.status, 200 | 404)
        {
            call.found(value_of(answer.status, &answer.body));
        }
        self.wires[node] = answer.is_ok().then_some(wire);
    }

    fn write(&mut self, key: &str, kind: Kind) {
        let is_careful = self.manner == Manner::Careful;
        for _ in 0..if is_careful { ATTEMPTS } else { 1 } {
            let node = self.random.below(self.wires.len());
            let Some(mut wire) = self.wire(node) else {
                continue;
            };
            // Attempts that fail at once raise the floor faster than time goes by, and nobody stamps
            // far ahead.
            let ahead_ms = self.floor_ms.saturating_sub(now_ms() + AHEAD_MS);
            std::thread::sleep(Duration::from_millis(ahead_ms));
            let server_ms = now_ms() + self.server_ahead_ms;
            let deadline_ms = server_ms.max(self.floor_ms) + DEADLINE_MS;
            let headers = if is_careful {
                times(deadline_ms, self.floor_ms)
            } else {
                String::new()
            };
            let (method, body) = match kind {
                Kind::Put(value) => ("PUT", bytes_of(value, self.all.value_bytes)),
                _ => ("DELETE", Vec::new()),
            };
            let call = self.begin(key, kind, node);
            let answer = wire.try_request_with(method, &entity(key, ""), &headers, body);
            self.wires[node] = answer.is_ok().then_some(wire);
            if let Ok(answer) = &answer {
                self.learn(answer);
            }
            match answer.map(|answer| answer.status) {
                Ok(201 | 202) => {
                    call.ok();
                    let until = self.all.recorder.moment();
                    for call in self.given_up.remove(key).into_iter().flatten() {
                        call.unknown_until(until);
                    }
                    return;
                }
                // Too late to be stamped: it was not, and another attempt can be.
                Ok(408) => call.failed(),
                Ok(status @ 400..500) => panic!("{method} {key}: {status}"),
                _ if is_careful => {
                    self.floor_ms = self.floor_ms.max(deadline_ms);
                    self.given_up.entry(key.to_owned()).or_default().push(call);
                }
                _ => {
                    call.unknown();
                    return;
                }
            }
        }
    }

    /// Deadlines are by the servers' clock, which others' floors may have moved ahead of the day's.
    fn learn(&mut self, answer: &Answer) {
        let told = answer
            .header("dunlin-time")
            .and_then(|time| time.parse().ok());
        self.server_ahead_ms = told.unwrap_or(0_u64).saturating_sub(now_ms());
    }

    fn begin(&self, key: &str, kind: Kind, node: usize) -> Call<'a> {
        let call = self.all.recorder.begin(self.process, key, kind);
        call.note(format!("{:?}, through n{}", self.manner, node + 1))
    }

    /// The connection to a node; `None` when nobody answers there.
    fn wire(&mut self, node: usize) -> Option<Wire> {
        if let Some(wire) = self.wires[node].take() {
            return Some(wire);
        }
        let wire = Wire::try_open_at(self.all.addresses[node]).ok();
        match wire {
            Some(mut wire) => {
                wire.patience(PATIENCE);
                Some(wire)
            }
            None => {
                std::thread::sleep(Duration::from_millis(5));
                None
            }
        }
    }
}
