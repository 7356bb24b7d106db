//! Transactions over four ranges and three nodes, of which some are killed and stopped all the time: a bank whose sum never
//! changes, and lists whose history must have one order that respects real time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dunlin_history::{Outcome, Recorder, Step, Transaction, check_appends};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

const EACH: i64 = 100;
const WORKERS: u64 = 6;
const LASTS: Duration = Duration::from_secs(60);
/// Longer than any request is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

fn start(name: &str, split_at: &[&str]) -> Flock {
    let flock = Flock::start(&["--shards=2"]);
    let body = json!({"name": name, "mode": "transactional", "split_at": split_at}).to_string();
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", body.as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    flock
}

/// One request on a connection of its own; none where no answer came.
fn ask(at: SocketAddr, method: &str, path: &str, body: &str) -> Option<Answer> {
    let mut wire = Wire::try_open_at(at).ok()?;
    wire.patience(PATIENCE);
    wire.try_request(method, path, body).ok()
}

fn txn(at: SocketAddr, body: &Value) -> Option<Answer> {
    ask(at, "POST", "/v1/txn", &body.to_string())
}

/// What became of a transaction.
enum Done {
    Ok(Value),
    /// It has no effect.
    Not,
    Unknown,
}

fn done(answer: Option<Answer>) -> Done {
    let Some(answer) = answer else {
        return Done::Unknown;
    };
    match answer.status {
        200 => Done::Ok(answer.json()),
        409 | 412 | 503 => Done::Not,
        504 => Done::Unknown,
        status => panic!("{status} {}", answer.text()),
    }
}

/// Kills nodes and stops them, one after the other, for as long as the load lasts.
fn disturb(flock: &mut Flock, seed: u64) -> u64 {
    let (begun, mut times) = (Instant::now(), 0);
    let mut random = StdRng::seed_from_u64(seed);
    while begun.elapsed() < LASTS {
        thread::sleep(Duration::from_millis(random.random_range(1_000..3_000)));
        let victim = random.random_range(0..3);
        times += 1;
        if random.random_bool(0.4) {
            flock.nodes[victim].process_mut().freeze();
            thread::sleep(Duration::from_millis(random.random_range(500..5_000)));
            flock.nodes[victim].process_mut().signal("-CONT");
        } else {
            flock.kill(victim);
            thread::sleep(Duration::from_millis(random.random_range(200..2_000)));
            flock.up(victim);
        }
    }
    times
}

fn no_intents(flock: &Flock) {
    eventually("no intent is left", Duration::from_secs(60), || {
        let status = flock.nodes[0].status();
        let ranges = status["ranges"].as_array().unwrap();
        ranges.len() == 15 && ranges.iter().all(|range| range["intents"] == 0)
    });
}

/// Accounts in four ranges, and clients that move money between them.
#[derive(Clone, Copy)]
struct Bank {
    accounts: u64,
    workers: u64,
    /// Whether transactions over several requests lock their first account.
    locks: bool,
}

impl Bank {
    fn key(self, account: u64) -> String {
        format!("{:02}", account * 100 / self.accounts)
    }

    fn account(self, number: u64) -> Value {
        json!({"keyspace": "bank", "key": self.key(number)})
    }

    fn total(self) -> i64 {
        self.accounts as i64 * EACH
    }
}

fn with(mut place: Value, name: &str, value: Value) -> Value {
    place[name] = value;
    place
}

#[derive(Default)]
struct Counts {
    done: AtomicU64,
    unknown: AtomicU64,
    snapshots: AtomicU64,
}

impl Counts {
    fn note(&self, moved: &Done, note: String, notes: &mut Vec<String>) {
        match moved {
            Done::Ok(_) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                notes.push(note);
            }
            Done::Not => {}
            Done::Unknown => drop(self.unknown.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Moves money in a transaction over several requests, at different nodes.
fn move_step_by_step(
    bank: Bank,
    addresses: &[SocketAddr],
    random: &mut StdRng,
    changes: [(u64, i64); 2],
    note: &str,
) -> Done {
    let mut at = || addresses[random.random_range(0..3)];
    let begun = ask(at(), "POST", "/v1/txn/begin", "").filter(|told| told.status == 201);
    let Some(begun) = begun else { return Done::Not };
    let id = begun.json()["id"].as_str().unwrap().to_owned();
    let path = |key: &str| format!("/v1/txn/{id}/keyspaces/bank/keys/{key}");
    let mut writes = vec![(note.to_owned(), "x".to_owned())];
    for (number, change) in changes {
        let key = bank.key(number);
        let is_locked = bank.locks && writes.len() == 1;
        let query = if is_locked { "?lock=true" } else { "" };
        let read = ask(at(), "GET", &format!("{}{query}", path(&key)), "");
        let read = read.filter(|told| told.status == 200);
        let Some(read) = read else { return Done::Not };
        let balance: i64 = read.text().parse().unwrap();
        writes.push((key, (balance + change).to_string()));
    }
    for (key, value) in &writes {
        let kept = ask(at(), "PUT", &path(key), value);
        if kept.is_none_or(|told| told.status != 202) {
            return Done::Not;
        }
    }
    let first = format!("?first=bank/{note}");
    let mut told = ask(at(), "POST", &format!("/v1/txn/{id}/commit{first}"), "");
    let begun = Instant::now();
    loop {
        match told.as_ref().map(|told| (told.status, told)) {
            Some((200, told)) if told.json()["state"] == "committed" => {
                return Done::Ok(Value::Null);
            }
            Some((200, told)) if told.json()["state"] == "aborted" => return Done::Not,
            Some((409, _)) => return Done::Not,
            _ if begun.elapsed() > PATIENCE => return Done::Unknown,
            _ => thread::sleep(Duration::from_millis(50)),
        }
        told = ask(at(), "GET", &format!("/v1/txn/{id}{first}"), "");
    }
}

/// Moves money in one request that reads nothing before.
fn add(bank: Bank, at: SocketAddr, changes: [(u64, i64); 2], note: &str) -> Done {
    let changed = changes.map(|(number, change)| with(bank.account(number), "add", change.into()));
    let mut writes = changed.to_vec();
    writes.push(json!({"keyspace": "bank", "key": note, "value": "x"}));
    done(txn(at, &json!({ "writes": writes })))
}

/// Moves money, and leaves a note of each move beside it; the notes of those that were acknowledged.
fn transfer(
    bank: Bank,
    addresses: &[SocketAddr],
    worker: u64,
    ends: &AtomicBool,
    counts: &Counts,
) -> Vec<String> {
    let mut random = StdRng::seed_from_u64(worker);
    let (mut notes, mut number) = (Vec::new(), 0);
    while !ends.load(Ordering::Relaxed) {
        number += 1;
        let at = addresses[random.random_range(0..3)];
        let one = random.random_range(0..bank.accounts);
        let other = (one + random.random_range(1..bank.accounts)) % bank.accounts;
        let amount = random.random_range(1..=10);
        // In yet another range, mostly.
        let beside = bank.key((one + bank.accounts / 2) % bank.accounts);
        let note = format!("{beside}-note-{worker}-{number}");
        if worker % 2 == 1 {
            let changes = [(one, -amount), (other, amount)];
            let moved = move_step_by_step(bank, addresses, &mut random, changes, &note);
            counts.note(&moved, note, &mut notes);
            continue;
        }
        if bank.locks {
            let moved = add(bank, at, [(one, -amount), (other, amount)], &note);
            counts.note(&moved, note, &mut notes);
            continue;
        }
        let places = [bank.account(one), bank.account(other)];
        let Done::Ok(read) = done(txn(at, &json!({"reads": places}))) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        let changes = places.iter().zip([-amount, amount]).enumerate();
        let changes = changes.map(|(place, (key, change))| {
            let found = &read["reads"][place];
            let balance: i64 = found["value"].as_str().unwrap().parse().unwrap();
            let check = with(key.clone(), "version", found["version"].clone());
            let write = with(key.clone(), "value", (balance + change).to_string().into());
            (check, write)
        });
        let (checks, mut writes): (Vec<Value>, Vec<Value>) = changes.unzip();
        writes.push(json!({"keyspace": "bank", "key": note, "value": "x"}));
        let at = addresses[random.random_range(0..3)];
        let moved = done(txn(at, &json!({"checks": checks, "writes": writes})));
        counts.note(&moved, note, &mut notes);
    }
    notes
}

fn sum(bank: Bank, addresses: &[SocketAddr], turn: usize) -> Option<i64> {
    let reads: Vec<Value> = (0..bank.accounts).map(|n| bank.account(n)).collect();
    let Done::Ok(told) = done(txn(addresses[turn % 3], &json!({"reads": reads}))) else {
        return None;
    };
    let reads = told["reads"].as_array().unwrap().iter();
    Some(
        reads
            .map(|read| read["value"].as_str().unwrap().parse::<i64>().unwrap())
            .sum(),
    )
}

#[test]
fn the_sum_of_a_bank_never_changes_while_nodes_die() {
    keeps_its_sum(Bank {
        accounts: 100,
        workers: WORKERS,
        locks: false,
    });
}

#[test]
fn the_sum_of_four_hot_accounts_never_changes_and_every_client_has_its_turn() {
    keeps_its_sum(Bank {
        accounts: 4,
        workers: 64,
        locks: true,
    });
}

fn keeps_its_sum(bank: Bank) {
    let mut flock = start("bank", &["25", "50", "75"]);
    let full = || EACH.to_string().into();
    let accounts = (0..bank.accounts).map(|n| with(bank.account(n), "value", full()));
    let writes: Vec<Value> = accounts.collect();
    let addresses = flock.addresses();
    eventually("the accounts are made", Duration::from_secs(30), || {
        matches!(
            done(txn(addresses[0], &json!({"writes": writes}))),
            Done::Ok(_)
        )
    });
    let (ends, counts) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Counts::default()),
    );
    let workers: Vec<_> = (0..bank.workers)
        .map(|worker| {
            let (addresses, ends, counts) = (addresses.clone(), ends.clone(), counts.clone());
            thread::spawn(move || transfer(bank, &addresses, worker, &ends, &counts))
        })
        .collect();
    let lookers: Vec<_> = (0..2)
        .map(|looker| {
            let (addresses, ends, counts) = (addresses.clone(), ends.clone(), counts.clone());
            thread::spawn(move || {
                let mut turn = looker;
                while !ends.load(Ordering::Relaxed) {
                    turn += 1;
                    match sum(bank, &addresses, turn) {
                        Some(sum) => {
                            assert_eq!(sum, bank.total());
                            counts.snapshots.fetch_add(1, Ordering::Relaxed);
                        }
                        None => thread::sleep(Duration::from_millis(20)),
                    }
                }
            })
        })
        .collect();
    let times = disturb(&mut flock, 7);
    ends.store(true, Ordering::Relaxed);
    let notes: Vec<Vec<String>> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    let each: Vec<usize> = notes.iter().map(Vec::len).collect();
    println!("transfers of each client: {each:?}");
    let least = each.iter().min().copied().unwrap();
    assert!(least > 0, "a client never committed");
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    for looker in lookers {
        looker.join().unwrap();
    }
    let mut last = None;
    eventually("the bank is read", Duration::from_secs(30), || {
        last = sum(bank, &addresses, 0);
        last.is_some()
    });
    assert_eq!(last, Some(bank.total()));
    for chunk in notes.chunks(500) {
        let reads: Vec<Value> = chunk
            .iter()
            .map(|n| json!({"keyspace": "bank", "key": n}))
            .collect();
        let mut told = Value::Null;
        eventually("notes are read", Duration::from_secs(30), || {
            match done(txn(addresses[1], &json!({"reads": reads}))) {
                Done::Ok(answer) => told = answer,
                _ => return false,
            }
            true
        });
        for (note, read) in chunk.iter().zip(told["reads"].as_array().unwrap()) {
            assert_eq!(read["value"], "x", "{note} was acknowledged");
        }
    }
    no_intents(&flock);
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (done, snapshots) = (count(&counts.done), count(&counts.snapshots));
    let unknown = count(&counts.unknown);
    println!(
        "{done} transfers, the least {least}, {unknown} unknown, {snapshots} snapshots, {times} times disturbed"
    );
    assert!(done > 500 && snapshots > 50 && times > 8);
}

fn list_of(read: &Value) -> Vec<u64> {
    numbers(read["value"].as_str().unwrap_or_default())
}

/// The numbers of a list.
pub fn numbers(text: &str) -> Vec<u64> {
    text.split_terminator(',')
        .map(|n| n.parse().unwrap())
        .collect()
}

/// Some lists, each with the number that may be appended to it, and whether they are only read.
pub fn lists_of(random: &mut StdRng, next: &AtomicU64) -> (BTreeMap<String, u64>, bool) {
    let mut keys = BTreeMap::new();
    for _ in 0..random.random_range(1..=3) {
        let key = format!(
            "{}-{}",
            random.random_range(0..4) * 2 + 1,
            random.random_range(0..3)
        );
        let value = next.fetch_add(1, Ordering::Relaxed) + 1;
        keys.insert(key, value);
    }
    (keys, random.random_bool(0.3))
}

/// Appends of numbers to lists.
pub fn appends_of(keys: &BTreeMap<String, u64>, is_read: bool) -> Vec<Step> {
    if is_read {
        return Vec::new();
    }
    let append = |(key, value): (&String, &u64)| Step::Append(key.clone(), *value);
    keys.iter().map(append).collect()
}

/// Reads some lists, and mostly appends to them.
fn append(at: [SocketAddr; 2], random: &mut StdRng, next: &AtomicU64) -> (Vec<Step>, Ended) {
    let (keys, is_read) = lists_of(random, next);
    let place = |key: &String| json!({"keyspace": "lists", "key": key});
    let reads: Vec<Value> = keys.keys().map(place).collect();
    let appends = appends_of(&keys, is_read);
    let told = match done(txn(at[0], &json!({"reads": reads}))) {
        Done::Ok(told) => told,
        _ => return (appends, Ended::Not),
    };
    let (mut steps, mut checks, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (key, value)) in keys.iter().enumerate() {
        let read = &told["reads"][number];
        let mut list = list_of(read);
        steps.push(Step::Read(key.clone(), list.clone()));
        checks.push(match read["version"].as_str() {
            Some(version) => with(place(key), "version", version.into()),
            None => with(place(key), "exists", false.into()),
        });
        list.push(*value);
        let text: String = list.iter().map(|n| format!("{n},")).collect();
        writes.push(with(place(key), "value", text.into()));
    }
    if is_read {
        return (steps, Ended::Ok);
    }
    steps.extend(appends.iter().cloned());
    match done(txn(at[1], &json!({"checks": checks, "writes": writes}))) {
        Done::Ok(_) => (steps, Ended::Ok),
        Done::Not => (appends, Ended::Not),
        Done::Unknown => (appends, Ended::Unknown),
    }
}

/// How an attempt ended.
pub enum Ended {
    Ok,
    Not,
    Unknown,
}

#[test]
fn lists_have_one_history_while_nodes_die() {
    have_one_history(|_, _| None);
}

/// Appends by other means than requests over HTTP.
pub type Appender = Box<dyn FnMut(&mut StdRng, &AtomicU64) -> (Vec<Step>, Ended)>;

/// Has clients append while nodes are killed and stopped: what they saw must have one order that respects real time. Some
/// of them, by their numbers, have an appender of their own.
pub fn have_one_history(
    appender: impl Fn(u64, &[SocketAddr]) -> Option<Appender> + Copy + Send + 'static,
) {
    let mut flock = start("lists", &["2", "4", "6"]);
    let addresses = flock.addresses();
    let recorder = Arc::new(Recorder::default());
    let (ends, next) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (addresses, ends) = (addresses.clone(), ends.clone());
            let (recorder, next) = (recorder.clone(), next.clone());
            thread::spawn(move || {
                let mut random = StdRng::seed_from_u64(worker);
                let mut own = appender(worker, &addresses);
                let mut history = Vec::new();
                while !ends.load(Ordering::Relaxed) {
                    let invoked = recorder.moment();
                    let at = [0, 1].map(|_| addresses[random.random_range(0..3)]);
                    let (steps, outcome) = match &mut own {
                        Some(append) => append(&mut random, &next),
                        None => append(at, &mut random, &next),
                    };
                    let outcome = match outcome {
                        Ended::Ok => Outcome::Ok {
                            returned: recorder.moment(),
                        },
                        Ended::Not => Outcome::Failed,
                        Ended::Unknown => Outcome::Unknown { until: None },
                    };
                    history.push(Transaction {
                        process: worker,
                        steps,
                        invoked,
                        outcome,
                    });
                    thread::sleep(Duration::from_millis(random.random_range(0..20)));
                }
                history
            })
        })
        .collect();
    let times = disturb(&mut flock, 11);
    ends.store(true, Ordering::Relaxed);
    let mut history: Vec<Transaction> = workers
        .into_iter()
        .flat_map(|w| w.join().unwrap())
        .collect();
    let keys: Vec<String> = (0..12)
        .map(|n| format!("{}-{}", n / 3 * 2 + 1, n % 3))
        .collect();
    let reads: Vec<Value> = keys
        .iter()
        .map(|k| json!({"keyspace": "lists", "key": k}))
        .collect();
    let mut last = Vec::new();
    let invoked = recorder.moment();
    eventually("all lists are read", Duration::from_secs(30), || {
        let Done::Ok(told) = done(txn(addresses[2], &json!({"reads": reads}))) else {
            return false;
        };
        let lists = keys.iter().zip(told["reads"].as_array().unwrap());
        last = lists
            .map(|(key, read)| Step::Read(key.clone(), list_of(read)))
            .collect();
        true
    });
    history.push(Transaction {
        process: 99,
        steps: last,
        invoked,
        outcome: Outcome::Ok {
            returned: recorder.moment(),
        },
    });
    let done = history
        .iter()
        .filter(|t| matches!(t.outcome, Outcome::Ok { .. }))
        .count();
    println!(
        "{} transactions, {done} of them done, {times} times disturbed",
        history.len()
    );
    if let Err(anomaly) = check_appends(&history) {
        panic!("{anomaly}");
    }
    assert!(done > 500 && times > 8);
    no_intents(&flock);
}
