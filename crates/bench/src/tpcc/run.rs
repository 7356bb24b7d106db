//! One round of a case: all its terminals at once, for a while.

use std::io;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use dunlin_tpcc::conditions::{Broken, Delivered, check};
use dunlin_tpcc::deferred::{Delivery, Queued, queues};
use dunlin_tpcc::dunlin::{Dunlin, KEYSPACE};
use dunlin_tpcc::input::{Draw, Mix};
use dunlin_tpcc::load::Loaded;
use dunlin_tpcc::postgres::Postgres;
use dunlin_tpcc::random::{Constants, Random};
use dunlin_tpcc::tables::Tables;
use dunlin_tpcc::target::{Fault, Target};
use dunlin_tpcc::terminal::{Floor, Tally, Waits, deliver, work};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use super::database::{Database, address, failed, now_ms, runtime, servers};
use super::figures::{TpccFigures, figures};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::pinned::{pin, pin_process};
use crate::host::tree;
use crate::interrupt::Interrupt;
use crate::ranges::remote;

/// A server that was killed is started again after so long.
const DOWN: Duration = Duration::from_secs(1);
/// Conditions that do not hold are named, so many.
const NAMED: usize = 5;

/// How a round goes.
#[derive(Debug, Clone, Copy)]
pub struct TpccRound {
    /// Which transactions.
    pub mix: Mix,
    /// How many terminals.
    pub terminals: u32,
    /// How they wait.
    pub waits: Waits,
    /// Seconds before it counts.
    pub warm: Duration,
    /// Seconds that count.
    pub window: Duration,
    /// Of all random values.
    pub seed: u64,
    /// Whether the leader is killed in the middle.
    pub is_killed: bool,
}

/// The acknowledged transactions of a database since its load.
#[derive(Debug, Default)]
pub struct Known {
    /// Orders that were delivered.
    delivered: Delivered,
    /// The sum of W_YTD, in cents.
    ytd: i64,
    /// Transactions of which nobody could tell.
    unknown: u64,
}

impl Known {
    /// Of a database that is just loaded: all conditions hold.
    ///
    /// # Errors
    /// When one does not.
    pub fn of(database: &Database) -> Result<Known, BenchError> {
        let tables = database.dump()?;
        let known = Known {
            ytd: ytd(&tables),
            ..Known::default()
        };
        known.check(database, &tables)?;
        Ok(known)
    }

    /// Checks all rows against what terminals were answered.
    ///
    /// # Errors
    /// When a condition does not hold.
    fn check(&self, database: &Database, tables: &Tables) -> Result<(), BenchError> {
        let delivered = (self.unknown == 0).then_some(&self.delivered);
        let mut broken = check(tables, database.loaded.scale, delivered);
        let sum = ytd(tables);
        if self.unknown == 0 && sum != self.ytd {
            let line = format!(
                "the sum of W_YTD is {sum}, and payments of {} were acknowledged",
                self.ytd
            );
            broken.push(Broken { condition: 0, line });
        }
        if broken.is_empty() {
            return Ok(());
        }
        let named = broken.iter().take(NAMED);
        let named = named.map(|of| format!("condition {}: {}", of.condition, of.line));
        let named = named.collect::<Vec<_>>().join("; ");
        let fault = Fault::Failed(format!(
            "{} times a condition does not hold: {named}",
            broken.len()
        ));
        Err(failed(database.engine, &fault))
    }
}

fn ytd(tables: &Tables) -> i64 {
    tables.warehouses.values().sum()
}

/// Has terminals work, and checks the conditions: the figures, and the log of results of deliveries.
///
/// # Errors
/// When a transaction fails in another way than by others in its way, or a condition does not hold.
pub fn run(
    database: &mut Database,
    known: &mut Known,
    round: TpccRound,
    interrupt: &Interrupt,
) -> Result<(TpccFigures, Vec<Delivery>), BenchError> {
    let (loaded, engine) = (database.loaded, database.engine);
    let (at, from) = (servers(&database.cluster), address(&database.cluster));
    let pids = database.cluster.pids();
    let worked = thread::scope(|scope| {
        let clients = scope.spawn(move || {
            pin(0)?;
            let (runtime, tasks) = runtime()?;
            let worked = tasks.block_on(&runtime, async {
                let draw = Terminals::new(round, loaded);
                let floor = Rc::new(Floor::default());
                let mut working: Vec<JoinHandle<Result<(), Fault>>> = Vec::new();
                let shared = Dunlin::new(&at, round.mix == Mix::Full)?;
                let (senders, receivers) = queues(loaded.warehouses);
                for queue in receivers {
                    let floor = floor.clone();
                    working.push(match engine.isolation() {
                        None => delivering(shared.clone(), queue, floor),
                        Some(isolation) => {
                            delivering(Postgres::new(&from, isolation).await?, queue, floor)
                        }
                    });
                }
                for terminal in 0..round.terminals {
                    let (draw, floor) = (draw.of(terminal), (floor.clone(), senders.clone()));
                    working.push(match engine.isolation() {
                        None => at_work(shared.clone(), draw, round.waits, floor),
                        Some(isolation) => {
                            let target = Postgres::new(&from, isolation).await?;
                            at_work(target, draw, round.waits, floor)
                        }
                    });
                }
                drop(senders);
                measured(working, &floor, (round, &pids)).await
            });
            Ok::<_, io::Error>(worked)
        });
        if round.is_killed {
            let half = round.warm + round.window / 2;
            killed(database, half, interrupt)?;
        }
        let ended = || io::Error::other("the terminals ended early");
        clients
            .join()
            .map_err(|_| ended())?
            .map_err(BenchError::from)
    })?;
    let (mut tally, lasted, cpu) = worked.map_err(|fault| failed(engine, &fault))?;
    for (id, orders) in &tally.delivered {
        *known.delivered.entry(*id).or_default() += orders;
    }
    known.ytd += tally.paid;
    known.unknown += tally.unknown;
    let bytes = database.bytes();
    known.check(database, &database.dump()?)?;
    let cpu = (!round.is_killed).then_some(cpu);
    let deliveries = std::mem::take(&mut tally.deliveries);
    Ok((figures(&tally, (lasted, cpu, bytes)), deliveries))
}

/// A terminal as a task.
fn at_work(
    target: impl Target + 'static,
    draw: Draw,
    waits: Waits,
    floor: (Rc<Floor>, Vec<Sender<Queued>>),
) -> JoinHandle<Result<(), Fault>> {
    spawn_local(async move { work(&target, draw, waits, floor, now_ms).await })
}

/// The deliveries of a warehouse as a task.
fn delivering(
    target: impl Target + 'static,
    queue: Receiver<Queued>,
    floor: Rc<Floor>,
) -> JoinHandle<Result<(), Fault>> {
    spawn_local(async move { deliver(&target, queue, floor, now_ms).await })
}

/// Warms up, and counts for a while.
async fn measured(
    working: Vec<JoinHandle<Result<(), Fault>>>,
    floor: &Floor,
    (round, pids): (TpccRound, &[u32]),
) -> Result<(Tally, Duration, Duration), Fault> {
    sleep(round.warm).await;
    let all = pids.iter().flat_map(|pid| tree::of(*pid)).collect();
    let meter = Meter::new(all);
    let (cpu, began) = (meter.total(), Instant::now());
    floor.measure();
    sleep(round.window).await;
    floor.end();
    let (lasted, cpu) = (began.elapsed(), meter.total().saturating_sub(cpu));
    for terminal in working {
        let ended = terminal.await;
        ended.map_err(|_| Fault::Failed("a terminal ended early".to_owned()))??;
    }
    Ok((floor.tally(), lasted, cpu))
}

/// Kills the leader of all rows, and starts it again.
fn killed(
    database: &mut Database,
    after: Duration,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    interrupt.sleep(after)?;
    let at = database.cluster.addresses[0];
    let led = remote::until((at, interrupt), KEYSPACE, "a leader", |_| true)?;
    let number: usize = led.node.trim_start_matches('n').parse().unwrap_or(1);
    database.cluster.kill(number - 1)?;
    interrupt.sleep(DOWN)?;
    database.cluster.start_again(number - 1)?;
    for pid in database.cluster.pids() {
        pin_process(pid, 1)?;
    }
    Ok(())
}

/// What all terminals of a round draw from.
struct Terminals {
    round: TpccRound,
    loaded: Loaded,
    constants: Constants,
    run: u64,
}

impl Terminals {
    fn new(round: TpccRound, loaded: Loaded) -> Terminals {
        let constants = loaded.constants().of_run(&mut Random::new(round.seed));
        Terminals {
            round,
            loaded,
            constants,
            run: now_ms() as u64,
        }
    }

    fn of(&self, terminal: u32) -> Draw {
        let all = (self.loaded.warehouses, self.loaded.scale);
        let of = (self.run, self.round.seed, terminal);
        Draw::new(self.round.mix, all, self.constants, of)
    }
}
