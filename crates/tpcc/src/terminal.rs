//! Terminals at work: each does one transaction after the other, and each of them until it has happened.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender};

use crate::conditions::Delivered;
use crate::deferred::{Delivery, Queued};
use crate::input::{Draw, Input, Kind};
use crate::target::{Done, Fault, Target};

/// Between attempts while no server answers.
const PAUSE: Duration = Duration::from_millis(50);
/// No server has answered for so long: the terminal gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What transactions of one type came to.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// From the first attempt until it had happened.
    pub took: Vec<Duration>,
    /// Attempts that others were in the way of.
    pub refused: u64,
    /// Attempts that no server answered.
    pub unavailable: u64,
    /// Of which nobody could tell whether they happened.
    pub unknown: u64,
    /// That were rolled back, as they were to be.
    pub rolled_back: u64,
}

/// What terminals came to.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By type, since measuring began.
    pub kinds: BTreeMap<Kind, Figures>,
    /// Payments that were acknowledged since the start, in cents.
    pub paid: i64,
    /// Orders that were delivered since the start.
    pub delivered: Delivered,
    /// The log of results of deliveries.
    pub deliveries: Vec<Delivery>,
    /// Of which nobody could tell, since the start: then the sums of acknowledged transactions are not exact.
    pub unknown: u64,
}

/// What all terminals share.
#[derive(Debug, Default)]
pub struct Floor {
    is_measured: Cell<bool>,
    is_over: Cell<bool>,
    tally: RefCell<Tally>,
}

/// Waits of a terminal as the specification has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// None.
    Fastest,
    /// Keying times, and think times drawn by their means (clauses 5.2.5.4 and 5.2.5.7).
    Keying,
}

impl Waits {
    /// Before a transaction, and after it on average.
    pub fn around(self, kind: Kind) -> [Duration; 2] {
        let seconds = match (self, kind) {
            (Waits::Fastest, _) => [0, 0],
            (Waits::Keying, Kind::NewOrder) => [18, 12],
            (Waits::Keying, Kind::Payment) => [3, 12],
            (Waits::Keying, Kind::OrderStatus) => [2, 10],
            (Waits::Keying, Kind::Delivery | Kind::LowStock) => [2, 5],
        };
        seconds.map(Duration::from_secs)
    }
}

impl Floor {
    /// From now on transactions count.
    pub fn measure(&self) {
        self.is_measured.set(true);
    }

    /// Those that end from now on do not.
    pub fn end(&self) {
        self.is_measured.set(false);
        self.is_over.set(true);
    }

    /// What they came to.
    pub fn tally(&self) -> Tally {
        self.tally.borrow().clone()
    }

    /// A delivery is done.
    fn log(&self, delivery: Delivery) {
        self.tally.borrow_mut().deliveries.push(delivery);
    }

    fn figures(&self, kind: Kind, change: impl FnOnce(&mut Figures)) {
        if self.is_measured.get() {
            change(self.tally.borrow_mut().kinds.entry(kind).or_default());
        }
    }

    fn done(&self, input: &Input, done: &Done) {
        let mut tally = self.tally.borrow_mut();
        match (input, done) {
            (Input::Payment(input), Done::Paid { .. }) => tally.paid += input.amount,
            (Input::Delivery(input), Done::Delivered(orders)) => {
                for (district, _) in orders {
                    let id = (input.warehouse, *district);
                    *tally.delivered.entry(id).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}

/// Works until the floor ends, with the time of a clock in milliseconds since 1970. Deliveries go into the queues of their
/// warehouses.
///
/// # Errors
/// When a transaction fails in another way than by others in its way.
pub async fn work(
    target: &impl Target,
    mut draw: Draw,
    waits: Waits,
    (floor, queues): (Rc<Floor>, Vec<Sender<Queued>>),
    now_ms: impl Fn() -> i64,
) -> Result<(), Fault> {
    while !floor.is_over.get() {
        let input = draw.next(now_ms());
        let [keying, thinking] = waits.around(input.kind());
        wait(keying, &floor).await;
        match input {
            Input::Delivery(input) => {
                let queue = &queues[input.warehouse as usize - 1];
                let queued = queue.send((input, Instant::now())).await;
                queued.map_err(|_| Fault::Failed("deliveries have ended early".to_owned()))?;
            }
            input => drop(one(target, &input, &floor).await?),
        }
        wait(draw.think(thinking), &floor).await;
    }
    Ok(())
}

/// Does the deliveries of a warehouse until all terminals have ended and none is left.
///
/// # Errors
/// When one fails in another way than by others in its way.
pub async fn deliver(
    target: &impl Target,
    mut queue: Receiver<Queued>,
    floor: Rc<Floor>,
    now_ms: impl Fn() -> i64,
) -> Result<(), Fault> {
    while let Some((input, since)) = queue.recv().await {
        let done = one_since(target, &Input::Delivery(input), &floor, since).await?;
        if let Some(Done::Delivered(orders)) = done {
            floor.log(Delivery {
                queued_ms: input.date_ms,
                done_ms: now_ms(),
                warehouse: input.warehouse,
                carrier: input.carrier,
                orders,
            });
        }
    }
    Ok(())
}

async fn wait(time: Duration, floor: &Floor) {
    let until = Instant::now() + time;
    while !floor.is_over.get() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        tokio::time::sleep(left.min(PAUSE)).await;
    }
}

/// A transaction until it has happened.
///
/// # Errors
/// As [`work`].
pub async fn one(
    target: &impl Target,
    input: &Input,
    floor: &Floor,
) -> Result<Option<Done>, Fault> {
    one_since(target, input, floor, Instant::now()).await
}

/// The same with one that was to happen earlier.
async fn one_since(
    target: &impl Target,
    input: &Input,
    floor: &Floor,
    began: Instant,
) -> Result<Option<Done>, Fault> {
    let kind = input.kind();
    let mut answered = Instant::now();
    loop {
        match target.attempt(input).await {
            Ok(done) => {
                floor.done(input, &done);
                let took = began.elapsed();
                let is_rolled_back = done == Done::RolledBack;
                floor.figures(kind, |figures| {
                    figures.took.push(took);
                    figures.rolled_back += u64::from(is_rolled_back);
                });
                return Ok(Some(done));
            }
            Err(Fault::Refused(_)) => {
                floor.figures(kind, |figures| figures.refused += 1);
                answered = Instant::now();
            }
            Err(fault @ Fault::Unavailable(_)) => {
                floor.figures(kind, |figures| figures.unavailable += 1);
                if answered.elapsed() > PATIENCE {
                    return Err(fault);
                }
                tokio::time::sleep(PAUSE).await;
            }
            Err(Fault::Unknown(_)) => {
                floor.tally.borrow_mut().unknown += 1;
                floor.figures(kind, |figures| figures.unknown += 1);
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        }
        if floor.is_over.get() {
            return Ok(None);
        }
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
