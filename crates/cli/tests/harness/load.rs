//! Writers that remember what was acknowledged, and the proof that it is there.
//!
//! Every writer has keys of its own and one request at a time, so the order of a key's writes is
//! known. A write without an answer may have happened or not, now or later: its key is left alone
//! from then on, with both outcomes allowed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::flock::{Node, entity};
use super::random::Random;
use super::wire::Wire;

/// How long a write that is refused with 503 is tried again.
const REFUSED_MAX: Duration = Duration::from_secs(10);

/// `None` is a deleted key, or one never put.
type Value = Option<Vec<u8>>;

/// What may be found under a key.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    pub acknowledged: Value,
    /// A later write whose outcome is unknown.
    pub open: Option<Value>,
}

impl Expected {
    fn allows(&self, found: &Value) -> bool {
        *found == self.acknowledged || self.open.as_ref() == Some(found)
    }
}

/// Everything written and its fate.
#[derive(Debug, Default)]
pub struct Ledger {
    pub keys: BTreeMap<String, Expected>,
    pub acknowledged_count: u64,
    pub open_count: u64,
    /// Why writes are of unknown outcome.
    pub open_reasons: Vec<String>,
    pub checked_reads: u64,
}

impl Ledger {
    pub fn merge(&mut self, other: Ledger) {
        self.keys.extend(other.keys);
        self.acknowledged_count += other.acknowledged_count;
        self.open_count += other.open_count;
        self.open_reasons.extend(other.open_reasons);
        self.checked_reads += other.checked_reads;
    }
}

/// Has `writers` write until `trouble` is over, however that ends: what they were told, and what it says. It may
/// stop them before.
pub fn beside<T>(writers: Vec<Writer>, trouble: impl FnOnce(&AtomicBool) -> T) -> (Ledger, T) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = |writer: Writer| scope.spawn(|| writer.run(&stop));
        let writers: Vec<_> = writers.into_iter().map(run).collect();
        // A panic here must not leave the writers running for ever.
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trouble(&stop)));
        stop.store(true, Ordering::Relaxed);
        let mut ledger = Ledger::default();
        for writer in writers {
            ledger.merge(writer.join().unwrap());
        }
        match said {
            Ok(said) => (ledger, said),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// One writer.
pub struct Writer {
    name: String,
    addresses: Vec<SocketAddr>,
    wires: Vec<Option<Wire>>,
    random: Random,
    keys: Vec<String>,
    made: usize,
    value_bytes: usize,
    ledger: Ledger,
}

impl Writer {
    /// `keys` at a time are written again and again.
    pub fn new(name: &str, addresses: &[SocketAddr], seed: u64, keys: usize) -> Writer {
        let mut writer = Writer {
            name: name.to_owned(),
            addresses: addresses.to_owned(),
            wires: addresses.iter().map(|_| None).collect(),
            random: Random::new(seed),
            keys: Vec::new(),
            made: 0,
            value_bytes: 100,
            ledger: Ledger::default(),
        };
        for _ in 0..keys {
            let key = writer.new_key();
            writer.keys.push(key);
        }
        writer
    }

    pub fn value_bytes(mut self, bytes: usize) -> Writer {
        self.value_bytes = bytes;
        self
    }

    fn new_key(&mut self) -> String {
        self.made += 1;
        let key = format!("{}-{:06}", self.name, self.made);
        self.ledger.keys.insert(key.clone(), Expected::default());
        key
    }

    /// Writes and reads until told to stop.
    pub fn run(mut self, stop: &AtomicBool) -> Ledger {
        while !stop.load(Ordering::Relaxed) {
            self.step();
        }
        self.ledger
    }

    /// Puts each key once or more, `count` writes in all, which must all be acknowledged.
    pub fn run_count(mut self, count: usize) -> Ledger {
        for _ in 0..count {
            self.step();
        }
        let reasons = &self.ledger.open_reasons;
        assert!(reasons.is_empty(), "writes failed: {reasons:#?}");
        self.ledger
    }

    fn step(&mut self) {
        let at = self.random.below(self.keys.len());
        let key = self.keys[at].clone();
        let node = self.random.below(self.addresses.len());
        match self.random.below(10) {
            0..3 => self.read(&key, node),
            3 => self.write(at, &key, node, None),
            _ => {
                let mut value = format!("{key}={} ", self.random.next()).into_bytes();
                while value.len() < self.value_bytes {
                    value.extend_from_slice(&self.random.next().to_le_bytes());
                }
                self.write(at, &key, node, Some(value));
            }
        }
    }

    fn wire(&mut self, node: usize) -> Option<&mut Wire> {
        if self.wires[node].is_none() {
            self.wires[node] = Wire::try_open_at(self.addresses[node]).ok();
            if self.wires[node].is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.wires[node].as_mut()
    }

    fn write(&mut self, at: usize, key: &str, node: usize, value: Value) {
        let begun = Instant::now();
        let answer = loop {
            let Some(wire) = self.wire(node) else {
                return; // nothing was sent, or nothing was taken
            };
            let answer = match &value {
                Some(value) => wire.try_request("PUT", &entity(key, ""), value),
                None => wire.try_request("DELETE", &entity(key, ""), b""),
            };
            if answer.is_err() {
                self.wires[node] = None;
            }
            // 503 means "not taken, try again": a node answers so after it stood still for a while.
            let is_refused = matches!(&answer, Ok(answer) if answer.status == 503);
            if !is_refused || begun.elapsed() > REFUSED_MAX {
                break answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let expected = self.ledger.keys.entry(key.to_owned()).or_default();
        if matches!(&answer, Ok(answer) if matches!(answer.status, 201 | 202)) {
            expected.acknowledged = value;
            self.ledger.acknowledged_count += 1;
        } else {
            expected.open = Some(value);
            self.ledger.open_count += 1;
            let reason = answer.map_or_else(
                |error| error.to_string(),
                |answer| format!("{} {}", answer.status, answer.text()),
            );
            let node = self.addresses[node];
            self.ledger
                .open_reasons
                .push(format!("{key} through {node}: {reason}"));
            self.keys[at] = self.new_key();
        }
    }

    fn read(&mut self, key: &str, node: usize) {
        let Some(wire) = self.wire(node) else { return };
        let answer = wire.try_request("GET", &entity(key, ""), b"");
        let found = match answer {
            Ok(answer) if answer.status == 200 => Some(answer.body),
            Ok(answer) if answer.status == 404 => None,
            Ok(_) => return,
            Err(_) => {
                self.wires[node] = None;
                return;
            }
        };
        let expected = &self.ledger.keys[key];
        assert!(
            expected.allows(&found),
            "{key} read through node {node} under load: found {}, allowed {}",
            shown(&found),
            shown_expected(expected)
        );
        self.ledger.checked_reads += 1;
    }
}

/// Reads every key through every node with `rest` of the query; all must be as the ledger has it.
/// A write of unknown outcome may still be on its way from one node to another.
pub fn verify(ledger: &Ledger, nodes: &[Node], rest: &str) {
    complain(&wrong(ledger, nodes, rest, false), rest);
}

/// The same, and all nodes must answer alike.
pub fn verify_settled(ledger: &Ledger, nodes: &[Node], rest: &str) {
    complain(&wrong(ledger, nodes, rest, true), rest);
}

/// The same, given time until it holds.
pub fn verify_within(ledger: &Ledger, nodes: &[Node], rest: &str, within: Duration) {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if wrong(ledger, nodes, rest, true).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    verify_settled(ledger, nodes, rest);
}

fn complain(wrong: &[String], rest: &str) {
    let first = &wrong[..wrong.len().min(10)];
    assert!(
        wrong.is_empty(),
        "{} wrong with {rest:?}: {first:#?}",
        wrong.len()
    );
}

fn wrong(ledger: &Ledger, nodes: &[Node], rest: &str, settled: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut first: BTreeMap<&str, Value> = BTreeMap::new();
    for node in nodes {
        let mut wire = node.wire();
        for (key, expected) in &ledger.keys {
            let answer = wire.try_request("GET", &entity(key, rest), b"");
            let found = match answer {
                Ok(answer) if answer.status == 200 => Some(answer.body),
                Ok(answer) if answer.status == 404 => None,
                Ok(answer) => {
                    wrong.push(format!(
                        "{key} through {}: status {}",
                        node.name, answer.status
                    ));
                    continue;
                }
                Err(error) => {
                    wrong.push(format!("{key} through {}: {error}", node.name));
                    wire = node.wire();
                    continue;
                }
            };
            if !expected.allows(&found) {
                let allowed = shown_expected(expected);
                wrong.push(format!(
                    "{key} through {}: found {}, allowed {allowed}",
                    node.name,
                    shown(&found)
                ));
            } else if settled && first.entry(key).or_insert_with(|| found.clone()) != &found {
                wrong.push(format!(
                    "{key} through {}: another answer than through the node before",
                    node.name
                ));
            }
        }
    }
    wrong
}

fn shown(value: &Value) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(bytes) => {
            let begin = &bytes[..bytes.len().min(40)];
            format!(
                "{:?} ({} bytes)",
                String::from_utf8_lossy(begin),
                bytes.len()
            )
        }
    }
}

fn shown_expected(expected: &Expected) -> String {
    match &expected.open {
        None => shown(&expected.acknowledged),
        Some(open) => format!("{} or {}", shown(&expected.acknowledged), shown(open)),
    }
}
