//! The event loop that starts requests at their intended times and measures from those.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::clock::{Clock, Schedule, ns};
use super::connection::{Broken, Connection};
use super::outcome::Outcome;
use super::protocol::{Protocol, Verdict};
use crate::interrupt::Interrupt;

/// When requests start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// At a constant rate over all connections, per second.
    Rate(f64),
    /// Each connection asks again as soon as it is answered.
    Closed,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Connection `i` goes to address `i` modulo their number.
    pub addresses: Vec<SocketAddr>,
    /// Connections in all.
    pub connections: usize,
    /// When requests start.
    pub pace: Pace,
    /// The first part, which is not counted.
    pub warmup: Duration,
    /// The whole, warm-up included.
    pub duration: Duration,
}

/// The ends of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The warm-up is over.
    Begin,
    /// The last intended start has passed.
    End,
}

/// One request of the window, when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// When it was meant to start, in nanoseconds from the start of the run.
    pub intended_ns: u64,
    /// From then until its answer; so far, when there was none.
    pub latency_ns: u64,
    /// Whether the answer was the wanted one.
    pub is_expected: bool,
}

/// Why a run could not be carried out at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A server does not accept connections.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// The server.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused what the loop needs.
    #[error("event loop: {0}")]
    System(#[from] io::Error),
    /// The plan names no server.
    #[error("no address to send to")]
    NoAddress,
    /// The histogram could not be made.
    #[error("histogram: {0}")]
    Histogram(#[from] hdrhistogram::CreationError),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// How long late answers are waited for after the last intended start.
const DRAIN: Duration = Duration::from_secs(3);
/// The loop looks at the interrupt at least this often.
const WAKE: Duration = Duration::from_millis(100);

/// Runs the plan on the calling thread; `at_edge` is called at both ends of the window.
///
/// # Errors
/// When the run cannot be carried out; wrong answers are counted in the [`Outcome`] instead.
pub fn run<P: Protocol>(
    plan: &Plan,
    protocol: &mut P,
    interrupt: &Interrupt,
    at_edge: &mut dyn FnMut(Edge),
) -> Result<Outcome, LoadError> {
    follow(plan, protocol, interrupt, at_edge, &mut |_| {})
}

/// The same, and `at_answer` is told of every request of the window.
///
/// # Errors
/// As [`run`].
pub fn follow<P: Protocol>(
    plan: &Plan,
    protocol: &mut P,
    interrupt: &Interrupt,
    at_edge: &mut dyn FnMut(Edge),
    at_answer: &mut dyn FnMut(Answered),
) -> Result<Outcome, LoadError> {
    // Timers would otherwise fire up to 50 us late, which would be measured as latency.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(io::Error::from)?;
    let mut generator = Generator::new(plan, protocol, at_answer)?;
    generator.run(interrupt, at_edge)?;
    Ok(generator.outcome)
}

struct Generator<'a, P: Protocol> {
    plan: &'a Plan,
    protocol: &'a mut P,
    at_answer: &'a mut dyn FnMut(Answered),
    connections: Vec<Connection<P::Exchange>>,
    epoll: OwnedFd,
    clock: Clock,
    schedule: Schedule,
    /// Idle connections by the intended start of their next request.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    outstanding: usize,
    window: (u64, u64),
    measuring: bool,
    outcome: Outcome,
}

impl<'a, P: Protocol> Generator<'a, P> {
    fn new(
        plan: &'a Plan,
        protocol: &'a mut P,
        at_answer: &'a mut dyn FnMut(Answered),
    ) -> Result<Self, LoadError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let mut connections = Vec::with_capacity(plan.connections);
        for &address in plan.addresses.iter().cycle().take(plan.connections) {
            let connection = Connection::open(address, &*protocol)
                .map_err(|source| LoadError::Unreachable { address, source })?;
            connections.push(connection);
        }
        if connections.is_empty() {
            return Err(LoadError::NoAddress);
        }
        let rate = match plan.pace {
            Pace::Rate(rate) => rate,
            Pace::Closed => f64::MAX,
        };
        let generator = Generator {
            schedule: Schedule::new(rate, connections.len()),
            window: (ns(plan.warmup), ns(plan.duration)),
            due: BinaryHeap::with_capacity(connections.len()),
            outcome: Outcome::new()?,
            clock: Clock::start(),
            outstanding: 0,
            measuring: false,
            plan,
            protocol,
            at_answer,
            connections,
            epoll,
        };
        for index in 0..generator.connections.len() {
            generator.watch(index)?;
        }
        Ok(generator)
    }

    fn run(
        &mut self,
        interrupt: &Interrupt,
        at_edge: &mut dyn FnMut(Edge),
    ) -> Result<(), LoadError> {
        self.clock = Clock::start();
        for index in 0..self.connections.len() {
            self.plan_next(index, 0);
        }
        let begin = self.window.0;
        let (mut began, mut ended, mut cpu) = (None, false, Duration::ZERO);
        let mut events = Vec::with_capacity(256);
        loop {
            let now = self.clock.now_ns();
            if self.protocol.is_over() {
                self.window.1 = self.window.1.min(now);
            }
            let end = self.window.1;
            let give_up = end.saturating_add(ns(DRAIN));
            if began.is_none() && now >= begin {
                at_edge(Edge::Begin);
                cpu = thread_cpu();
                let at = self.clock.now_ns();
                began = Some(at);
                self.measuring = true;
            }
            let exhausted = self.outstanding == 0 && self.due.is_empty();
            if let Some(at) = began
                && !ended
                && (now >= end || exhausted)
            {
                self.outcome.window = Duration::from_nanos(self.clock.now_ns() - at);
                self.outcome.generator_cpu = thread_cpu().saturating_sub(cpu);
                self.measuring = false;
                ended = true;
                at_edge(Edge::End);
            }
            if ended && (exhausted || now >= give_up) {
                break;
            }
            if interrupt.is_set() {
                return Err(LoadError::Interrupted);
            }
            self.start_due(now)?;
            let edge = if began.is_none() {
                begin
            } else if ended {
                give_up
            } else {
                end
            };
            self.wait(&mut events, edge)?;
        }
        self.count_unfinished();
        Ok(())
    }

    /// Starts every request whose time has come.
    fn start_due(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some(&Reverse((due, index))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            self.ask(index, due)?;
        }
        Ok(())
    }

    fn ask(&mut self, index: usize, intended_ns: u64) -> Result<(), LoadError> {
        let connection = &mut self.connections[index];
        if !connection.ask(self.protocol, intended_ns) {
            return Ok(());
        }
        self.outstanding += 1;
        self.flush(index)
    }

    fn flush(&mut self, index: usize) -> Result<(), LoadError> {
        match self.connections[index].flush() {
            Ok(true) => Ok(()),
            Ok(false) => self.interest(index, EventFlags::IN | EventFlags::OUT),
            Err(broken) => self.broken(index, broken),
        }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>, edge: u64) -> Result<(), LoadError> {
        let now = self.clock.now_ns();
        let next = self
            .due
            .peek()
            .map_or(edge, |Reverse((due, _))| (*due).min(edge));
        let left = next.saturating_sub(now).min(ns(WAKE));
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: left as _,
        };
        events.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(events),
            Some(&timeout),
        ) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        for event in events.iter() {
            let index = event.data.u64() as usize;
            let flags = event.flags;
            if flags.contains(EventFlags::OUT) {
                self.interest(index, EventFlags::IN)?;
                self.flush(index)?;
            }
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                self.receive(index)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, index: usize) -> Result<(), LoadError> {
        match self.connections[index].receive(self.protocol) {
            Ok(None) => Ok(()),
            Ok(Some(verdict)) => {
                let now = self.clock.now_ns();
                self.outcome.judge(verdict);
                self.answered(index, now, verdict == Verdict::Expected);
                self.plan_next(index, now);
                self.start_due(now)
            }
            Err(broken) => self.broken(index, broken),
        }
    }

    fn answered(&mut self, index: usize, now: u64, is_expected: bool) {
        let Some(intended) = self.connections[index].intended_ns.take() else {
            return;
        };
        self.outstanding -= 1;
        if self.measuring {
            self.outcome.completed_in_window += 1;
        }
        if (self.window.0..self.window.1).contains(&intended) {
            self.record(intended, now - intended, is_expected);
        }
    }

    fn record(&mut self, intended_ns: u64, latency_ns: u64, is_expected: bool) {
        self.outcome.record_ns(latency_ns);
        (self.at_answer)(Answered {
            intended_ns,
            latency_ns,
            is_expected,
        });
    }

    fn broken(&mut self, index: usize, broken: Broken) -> Result<(), LoadError> {
        let now = self.clock.now_ns();
        self.outcome.broke(broken.to_string());
        self.answered(index, now, false);
        let address = self.plan.addresses[index % self.plan.addresses.len()];
        self.connections[index]
            .reopen(&*self.protocol)
            .map_err(|source| LoadError::Unreachable { address, source })?;
        self.watch(index)?;
        self.plan_next(index, now);
        Ok(())
    }

    /// Notes when the connection starts its next request, if it is meant to.
    fn plan_next(&mut self, index: usize, now: u64) {
        let due = match self.plan.pace {
            Pace::Rate(_) => {
                let sequence = self.connections[index].sequence;
                self.schedule.intended_ns(index, sequence)
            }
            Pace::Closed => now,
        };
        if due < self.window.1 {
            self.due.push(Reverse((due, index)));
        }
    }

    /// A request that was never answered, or never even sent because its connection was busy,
    /// counts with the latency it has so far: leaving it out would flatter the server.
    fn count_unfinished(&mut self) {
        let now = self.clock.now_ns();
        let mut unfinished = Vec::new();
        for (index, connection) in self.connections.iter().enumerate() {
            let Some(intended) = connection.intended_ns else {
                continue;
            };
            let mut missing = vec![intended];
            if matches!(self.plan.pace, Pace::Rate(_)) {
                missing.extend(
                    (connection.sequence..)
                        .map(|sequence| self.schedule.intended_ns(index, sequence))
                        .take_while(|&intended| intended < self.window.1),
                );
            }
            unfinished.extend(missing.into_iter().filter(|at| *at >= self.window.0));
        }
        for intended in unfinished {
            self.outcome.unfinished += 1;
            self.record(intended, now.saturating_sub(intended), false);
        }
    }

    fn watch(&self, index: usize) -> Result<(), LoadError> {
        let stream = self.connections[index].stream();
        epoll::add(
            &self.epoll,
            stream,
            EventData::new_u64(index as u64),
            EventFlags::IN,
        )
        .map_err(io::Error::from)?;
        Ok(())
    }

    fn interest(&self, index: usize, flags: EventFlags) -> Result<(), LoadError> {
        let stream = self.connections[index].stream();
        epoll::modify(&self.epoll, stream, EventData::new_u64(index as u64), flags)
            .map_err(io::Error::from)?;
        Ok(())
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
