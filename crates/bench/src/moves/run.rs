//! One run: a cluster filled, a node added, a node drained, and everything looked at afterwards.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::Session;
use super::change::{self, Moved};
use super::clients::{Clients, Heard};
use super::felt::{Felt, Second, by_second};
use super::ledger::Ledger;
use super::members::{self, Step};
use super::plan::Condition;
use super::verify::{self, Verified};
use crate::cluster::Cluster;
use crate::cluster::processes::{self, Setup};
use crate::error::BenchError;
use crate::host::cpu::{Machine, Meter};
use crate::load::generator::{self, Pace};
use crate::load::http::{HttpWorkload, THREE_COPIES, Verb};
use crate::load::key::{Choice, KeySet, Order};
use crate::load::value::Values;
use crate::measure::settle;

/// Old replicas drop what they gave away some seconds after a change, and that is to be seen in a
/// part of the run of its own.
const REST_MIN: Duration = Duration::from_secs(5);
const FILL_CONNECTIONS: usize = 64;
const FILL_WITHIN: Duration = Duration::from_secs(4 * 3_600);

/// What one run found.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Its parts, in order: `before`, a step, `between`, a step, `after`.
    pub parts: Vec<Part>,
    /// Its changes of the members.
    pub moves: Vec<Moved>,
    /// What clients felt second by second; none without clients.
    pub seconds: Vec<Second>,
    /// Failures of clients' requests in words, empty when there were none.
    pub failures: String,
    /// What was found afterwards.
    pub verified: Verified,
}

/// A part of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// What was going on.
    pub name: String,
    /// Its begin, in seconds from the start of the run.
    pub begin_s: f64,
    /// Its end.
    pub end_s: f64,
    /// CPU time of all nodes.
    pub nodes_cpu_s: f64,
    /// Share of the machine's CPU time that was busy, 0 to 1.
    pub machine_busy: f64,
    /// Share that neither the nodes nor the clients used: etcd, the kernel, other processes.
    pub machine_other: f64,
    /// Share that the hypervisor took away.
    pub machine_steal: f64,
    /// What clients felt; `None` without clients.
    pub felt: Option<Felt>,
    /// Seconds that began in it and whose 99th percentile was above the bound.
    pub seconds_over: Option<u64>,
}

impl Run {
    /// CPU time of all nodes for each gigabyte that a step moved, beyond what they needed before
    /// it; without clients they need nothing.
    pub fn cpu_s_per_gb(&self, step: usize) -> Option<f64> {
        let moved = self.moves.get(step)?;
        let (before, during) = (self.parts.get(2 * step)?, self.parts.get(2 * step + 1)?);
        let idle = before.nodes_cpu_s / (before.end_s - before.begin_s).max(1e-3);
        let extra = during.nodes_cpu_s - idle * (during.end_s - during.begin_s);
        (moved.bytes > 0).then(|| extra / (moved.bytes as f64 / 1e9))
    }

    /// The parts in which data moved.
    pub fn moving(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().skip(1).step_by(2)
    }
}

/// Reads all meters at the end of each part.
struct Marks {
    origin: Instant,
    nodes: Meter,
    clients: Meter,
    last: Mark,
    parts: Vec<Part>,
}

#[derive(Clone, Copy)]
struct Mark {
    at_s: f64,
    nodes: Duration,
    clients: Duration,
    machine: Machine,
}

impl Marks {
    fn begin(origin: Instant, cluster: &Cluster) -> Marks {
        let mut marks = Marks {
            origin,
            nodes: Meter::new(cluster.pids()),
            clients: Meter::new(vec![std::process::id()]),
            last: Mark {
                at_s: 0.0,
                nodes: Duration::ZERO,
                clients: Duration::ZERO,
                machine: Machine::default(),
            },
            parts: Vec::new(),
        };
        marks.last = marks.read();
        marks
    }

    fn read(&self) -> Mark {
        Mark {
            at_s: self.origin.elapsed().as_secs_f64(),
            nodes: self.nodes.total(),
            clients: self.clients.total(),
            machine: Machine::read(),
        }
    }

    fn end(&mut self, name: String) {
        let (before, now) = (self.last, self.read());
        let (busy, steal) = now.machine.shares_since(&before.machine);
        let nodes = now.nodes.saturating_sub(before.nodes);
        let ours = nodes + now.clients.saturating_sub(before.clients);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let all_s = (now.at_s - before.at_s).max(1e-3) * cores as f64;
        self.parts.push(Part {
            name,
            begin_s: before.at_s,
            end_s: now.at_s,
            nodes_cpu_s: nodes.as_secs_f64(),
            machine_busy: busy,
            machine_other: (busy - ours.as_secs_f64() / all_s).max(0.0),
            machine_steal: steal,
            felt: None,
            seconds_over: None,
        });
        self.last = now;
    }
}

/// Carries out one run on a cluster of its own.
///
/// # Errors
/// When the cluster cannot be started or filled, when a step goes wrong, when anything is not as
/// it must be afterwards, or the user stops the run.
pub fn run(session: &Session, condition: Condition) -> Result<Run, BenchError> {
    let interrupt = &session.interrupt;
    let flags = condition.serve_flags();
    let setup = Setup {
        shards: 1,
        members: processes::MEMBERS,
        dunlin: &session.dunlin,
        sync: condition.sync,
        more: &flags,
        spare: 1,
    };
    let mut cluster = processes::start_with(&setup, &session.data, interrupt)?;
    let ledger = fill(session, &cluster)?;
    settle(&Meter::new(cluster.pids()), interrupt)?;
    let steps = steps(&cluster, session)?;

    let (mut clients, mut unused) = (None, None);
    if condition.has_clients() {
        let started = Clients::start(&session.plan, &cluster.addresses, ledger, interrupt)?;
        clients = Some(started);
    } else {
        unused = Some(ledger)
    }
    let origin = clients.as_ref().map_or_else(Instant::now, Clients::began);
    let mut marks = Marks::begin(origin, &cluster);
    rest(session, &mut cluster, &mut clients)?;
    marks.end("before".into());
    let mut moves = Vec::new();
    for (step, then) in steps.iter().zip(["between", "after"]) {
        let moved = change::follow(step, &mut cluster, &mut clients, origin, interrupt)?;
        marks.end(step.name());
        session.say_moved(condition, &moved);
        moves.push(moved);
        rest(session, &mut cluster, &mut clients)?;
        marks.end(then.into());
    }
    let mut parts = marks.parts;
    let heard = clients.map(Clients::end).transpose()?;
    let (seconds, failures) = match &heard {
        Some(heard) => (feel(&mut parts, heard), heard.outcome.errors_text()),
        None => (Vec::new(), String::new()),
    };
    let ledger = heard.map(|heard| heard.ledger).or(unused);
    let ledger = ledger.ok_or_else(|| BenchError::Members("no keys".into()))?;
    Ok(Run {
        parts,
        moves,
        seconds,
        failures,
        verified: verify::verify(session, cluster, &ledger)?,
    })
}

/// Adds what clients felt to the parts; returns it by seconds.
fn feel(parts: &mut [Part], heard: &Heard) -> Vec<Second> {
    let seconds = by_second(&heard.answers);
    for part in parts {
        let is_in = |second: &&Second| {
            let at_s = second.at_s as f64;
            part.begin_s.floor() <= at_s && at_s < part.end_s.floor()
        };
        let is_over = |second: &&Second| second.felt.latency_us_p99 > super::plan::BOUND_US_P99;
        part.seconds_over = Some(seconds.iter().filter(is_in).filter(is_over).count() as u64);
        part.felt = Some(Felt::between(&heard.answers, part.begin_s, part.end_s));
    }
    seconds
}

/// The spare node joins; then the first of the others leaves.
fn steps(cluster: &Cluster, session: &Session) -> Result<[Step; 2], BenchError> {
    let first = cluster.addresses.first();
    let &address = first.ok_or_else(|| BenchError::Members("no node".into()))?;
    let now = members::ask(address, &session.interrupt)?;
    match (now.spare.as_slice(), now.members.first()) {
        ([spare], Some(first)) => Ok([Step::Add(spare.clone()), Step::Drain(first.clone())]),
        _ => Err(BenchError::Members(format!(
            "one spare node is wanted, this is what there is: {now:?}"
        ))),
    }
}

fn rest(
    session: &Session,
    cluster: &mut Cluster,
    clients: &mut Option<Clients>,
) -> Result<(), BenchError> {
    let wanted = match clients {
        Some(_) => session.plan.rest.max(REST_MIN),
        None => REST_MIN,
    };
    let begun = Instant::now();
    while begun.elapsed() < wanted {
        session.interrupt.sleep(Duration::from_millis(100))?;
        cluster.check()?;
        if let Some(clients) = clients {
            clients.check()?;
        }
    }
    Ok(())
}

/// Writes every key once.
fn fill(session: &Session, cluster: &Cluster) -> Result<Ledger, BenchError> {
    let plan = &session.plan;
    let keys = KeySet {
        tag: b'm',
        order: Order::Random,
    };
    let values = Values::new(usize::try_from(plan.value_bytes).unwrap_or(usize::MAX));
    let load = generator::Plan {
        addresses: cluster.addresses.clone(),
        connections: FILL_CONNECTIONS,
        pace: Pace::Closed,
        warmup: Duration::ZERO,
        duration: FILL_WITHIN,
    };
    let choice = Choice::Each {
        next: 0,
        end: plan.keys,
    };
    let mut puts = HttpWorkload::new(Verb::Put, THREE_COPIES, keys, choice, values.clone());
    let outcome = generator::run(&load, &mut puts, &session.interrupt, &mut |_| {})?;
    if outcome.errors() > 0 || outcome.measured() != plan.keys {
        return Err(BenchError::Unsound {
            what: format!("filling in {} keys", plan.keys),
            errors: outcome.errors(),
            requests: outcome.measured(),
            detail: outcome.errors_text(),
        });
    }
    session.progress.say(&format!(
        "{} keys of {:.0} MB filled in: {:.0}/s",
        plan.keys,
        plan.bytes() as f64 / 1e6,
        outcome.rate_per_s()
    ));
    Ok(Ledger::new(keys, values, plan.keys))
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
