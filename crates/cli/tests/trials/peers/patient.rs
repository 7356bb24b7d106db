//! Clients as a load balancer has them: they go to the next node when a connection is refused or
//! broken off, and take every answer for an answer.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::answer::Answer;
use crate::harness::flock::entity;
use crate::harness::random::Random;
use crate::harness::wire::Wire;

/// What one client did.
#[derive(Debug, Default)]
pub struct Tally {
    pub answered: u64,
    /// Requests that went to another node because nobody was there.
    pub turned_away: u64,
    /// Answers that no client should see.
    pub failures: Vec<String>,
}

impl Tally {
    pub fn merge(&mut self, other: Tally) {
        self.answered += other.answered;
        self.turned_away += other.turned_away;
        self.failures.extend(other.failures);
    }
}

pub struct Client {
    name: String,
    addresses: Vec<SocketAddr>,
    wires: Vec<Option<Wire>>,
    random: Random,
    tally: Tally,
    held: BTreeMap<usize, Vec<u8>>,
}

impl Client {
    pub fn new(name: &str, addresses: &[SocketAddr], seed: u64) -> Client {
        Client {
            name: name.to_owned(),
            addresses: addresses.to_owned(),
            wires: addresses.iter().map(|_| None).collect(),
            random: Random::new(seed),
            tally: Tally::default(),
            held: BTreeMap::new(),
        }
    }

    /// Puts, gets and lists own keys until told to stop.
    pub fn run(mut self, stop: &AtomicBool) -> Tally {
        while !stop.load(Ordering::Relaxed) {
            if self.random.below(20) == 0 {
                let range = format!("/v0/entities?start={0}-&end={0}.", self.name);
                let answer = self.request("GET", &range, b"");
                if answer.status != 200 || answer.chunks.len() < self.held.len() {
                    self.fail("GET", &range, &answer);
                }
                continue;
            }
            let number = self.random.below(200);
            let path = entity(&format!("{}-{number}", self.name), "");
            match self.held.get(&number).cloned() {
                Some(held) if self.random.below(2) == 0 => {
                    let answer = self.request("GET", &path, b"");
                    if answer.status != 200 || answer.body != held {
                        self.fail("GET", &path, &answer);
                    }
                }
                _ => {
                    let value = format!("{path} {}", self.random.next()).into_bytes();
                    let answer = self.request("PUT", &path, &value);
                    if answer.status == 201 {
                        self.held.insert(number, value);
                    } else {
                        self.held.remove(&number);
                        self.fail("PUT", &path, &answer);
                    }
                }
            }
        }
        self.tally
    }

    fn fail(&mut self, method: &str, path: &str, answer: &Answer) {
        let text = String::from_utf8_lossy(&answer.body);
        let failure = format!("{method} {path}: {} {text}", answer.status);
        self.tally.failures.push(failure);
    }

    fn request(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        let first = self.random.below(self.addresses.len());
        for turn in 0.. {
            let node = (first + turn) % self.addresses.len();
            assert!(turn < 100, "nobody answers {method} {path}");
            if self.wires[node].is_none() {
                self.wires[node] = Wire::try_open_at(self.addresses[node]).ok();
            }
            let answer = match &mut self.wires[node] {
                Some(wire) => wire.try_request(method, path, body).ok(),
                None => None,
            };
            if let Some(answer) = answer {
                if answer.header("connection") == Some("close") {
                    self.wires[node] = None;
                }
                self.tally.answered += 1;
                return answer;
            }
            self.wires[node] = None;
            self.tally.turned_away += 1;
        }
        unreachable!("the loop ends by an answer or a panic")
    }
}
