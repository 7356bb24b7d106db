//! The load generator against servers that answer as told: rates, stalls, and what is never answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::load::generator::{Edge, LoadError, Pace, Plan, follow, run};
use dunlin_bench::load::http::{HttpWorkload, ONE_COPY, Verb};
use dunlin_bench::load::key::{Choice, KeySet, Order};
use dunlin_bench::load::outcome::Outcome;
use dunlin_bench::load::protocol::{Malformed, Progress, Protocol};
use dunlin_bench::load::value::Values;

const CREATED: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";

/// A server that answers each PUT of 16 bytes with what `answer` makes of its number.
fn server<F>(answer: F) -> SocketAddr
where
    F: Fn(u64) -> Vec<u8> + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (answer, counter) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, counter) = (answer.clone(), counter.clone());
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    let bytes = answer(counter.fetch_add(1, Ordering::SeqCst));
                    if bytes.is_empty() || stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn puts(end: u64) -> HttpWorkload {
    let keys = KeySet {
        tag: b't',
        order: Order::Random,
    };
    let choice = Choice::Each { next: 0, end };
    HttpWorkload::new(Verb::Put, ONE_COPY, keys, choice, Values::new(16))
}

fn plan(address: SocketAddr, connections: usize, pace: Pace) -> Plan {
    Plan {
        addresses: vec![address],
        connections,
        pace,
        warmup: Duration::from_millis(200),
        duration: Duration::from_millis(1000),
    }
}

fn load(plan: &Plan, workload: &mut HttpWorkload) -> (Outcome, Vec<Edge>) {
    let mut edges = Vec::new();
    let outcome = run(plan, workload, &Interrupt::default(), &mut |edge| {
        edges.push(edge);
    });
    (outcome.unwrap(), edges)
}

#[test]
fn keeps_its_rate_and_counts_only_the_window() {
    let address = server(|_| CREATED.to_vec());
    let (outcome, edges) = load(&plan(address, 4, Pace::Rate(1000.0)), &mut puts(u64::MAX));
    assert_eq!(edges, [Edge::Begin, Edge::End]);
    assert_eq!(outcome.measured(), 800, "800 ms of 1,000 a second");
    assert_eq!((outcome.errors(), outcome.unfinished), (0, 0));
    assert!((900.0..1100.0).contains(&outcome.rate_per_s()));
    assert!(outcome.generator_cpu > Duration::ZERO);
}

#[test]
fn a_stall_is_felt_by_every_request_meant_to_start_in_it() {
    // One stall of 300 ms. A generator with coordinated omission would record a single slow
    // request; here about 300 of 800 intended starts fall into it.
    let address = server(|number| {
        if number == 400 {
            thread::sleep(Duration::from_millis(300));
        }
        CREATED.to_vec()
    });
    let (outcome, _) = load(&plan(address, 1, Pace::Rate(1000.0)), &mut puts(u64::MAX));
    assert_eq!(outcome.measured(), 800);
    let slow = ((1.0 - outcome.share_under(10_000)) * 800.0).round();
    assert!((250.0..450.0).contains(&slow), "{slow}");
    assert!((250_000..400_000).contains(&outcome.percentile_us(100.0)));
}

#[test]
fn what_is_never_answered_still_counts() {
    let address = server(|number| {
        if number >= 500 {
            thread::sleep(Duration::from_secs(60));
        }
        CREATED.to_vec()
    });
    let (outcome, _) = load(&plan(address, 1, Pace::Rate(1000.0)), &mut puts(u64::MAX));
    assert_eq!(outcome.measured(), 800);
    assert_eq!(outcome.unfinished, 500);
    assert!(outcome.percentile_us(100.0) > 3_000_000);
}

#[test]
fn closed_loop_runs_to_the_end_of_a_finite_workload() {
    let address = server(|_| CREATED.to_vec());
    let mut plan = plan(address, 8, Pace::Closed);
    plan.warmup = Duration::ZERO;
    plan.duration = Duration::from_secs(60);
    let mut workload = puts(5000);
    let (outcome, edges) = load(&plan, &mut workload);
    assert_eq!(
        (outcome.measured(), outcome.completed_in_window),
        (5000, 5000)
    );
    assert_eq!(edges, [Edge::Begin, Edge::End]);
    assert!(outcome.window < Duration::from_secs(30));
}

#[test]
fn wrong_statuses_and_closed_connections_are_errors() {
    let address = server(|number| match number % 100 {
        7 => b"HTTP/1.1 504 Not Enough Replicas\r\nContent-Length: 3\r\n\r\nnot".to_vec(),
        50 => Vec::new(),
        _ => CREATED.to_vec(),
    });
    let (outcome, _) = load(&plan(address, 2, Pace::Rate(1000.0)), &mut puts(u64::MAX));
    assert_eq!(outcome.statuses.get(&504).copied(), Some(10));
    assert_eq!(outcome.broken, 10);
    assert_eq!(outcome.errors(), 20);
    assert_eq!(
        outcome.measured(),
        800,
        "failed requests keep their latency"
    );
}

#[test]
fn an_absent_server_is_named_and_an_interrupt_is_obeyed() {
    let absent = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let plan_absent = plan(absent, 1, Pace::Closed);
    let error = run(
        &plan_absent,
        &mut puts(1),
        &Interrupt::default(),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains(&absent.to_string()), "{error}");

    let interrupt = Interrupt::default();
    interrupt.set();
    let plan = plan(server(|_| CREATED.to_vec()), 1, Pace::Closed);
    let error = run(&plan, &mut puts(u64::MAX), &interrupt, &mut |_| {}).unwrap_err();
    assert!(matches!(error, LoadError::Interrupted));
}

/// Ends by itself after so many requests, long before the plan's time.
struct Until(HttpWorkload, u32);

impl Protocol for Until {
    type Exchange = <HttpWorkload as Protocol>::Exchange;

    fn is_over(&self) -> bool {
        self.1 == 0
    }

    fn request(&mut self, asked: &mut Self::Exchange, out: &mut Vec<u8>) -> bool {
        let left = self.1.checked_sub(1);
        self.1 = left.unwrap_or(0);
        left.is_some() && self.0.request(asked, out)
    }

    fn response(
        &mut self,
        asked: &mut Self::Exchange,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        self.0.response(asked, input, out)
    }
}

#[test]
fn a_workload_that_is_over_ends_the_run_and_every_request_is_told_of() {
    // The last one is never answered, and must neither be forgotten nor waited for for long.
    let address = server(|number| match number {
        99 => {
            thread::sleep(Duration::from_secs(60));
            Vec::new()
        }
        7 => b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => CREATED.to_vec(),
    });
    let mut plan = plan(address, 2, Pace::Rate(500.0));
    (plan.warmup, plan.duration) = (Duration::ZERO, Duration::from_secs(3_600));
    let mut told = Vec::new();
    let mut until = Until(puts(u64::MAX), 100);
    let outcome = follow(
        &plan,
        &mut until,
        &Interrupt::default(),
        &mut |_| {},
        &mut |answered| told.push(answered),
    );
    let outcome = outcome.unwrap();
    assert!(outcome.window < Duration::from_secs(60));
    // Its connection may have been due again before the end was seen.
    assert!((1..50).contains(&outcome.unfinished));
    assert_eq!(outcome.measured(), 99 + outcome.unfinished);
    assert_eq!(told.len() as u64, outcome.measured());
    let failed = told.iter().filter(|answered| !answered.is_expected);
    assert_eq!(failed.count() as u64, 1 + outcome.unfinished);
    let mut starts: Vec<u64> = told.iter().map(|answered| answered.intended_ns).collect();
    starts.sort_unstable();
    assert_eq!((starts[0], starts[50]), (0, 100_000_000));
}
