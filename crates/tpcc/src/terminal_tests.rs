#![allow(clippy::unwrap_used)]
use super::*;
use crate::deferred::queues;
use crate::input::{
    DeliveryInput, LowStockInput, Mix, NewOrderInput, OrderStatusInput, PaymentInput,
};
use crate::random::{Constants, Random};
use crate::scale::Scale;

/// Refuses the first attempt at each transaction, and ends the floor after so many.
struct Stubborn {
    attempts: Cell<u32>,
    floor: Rc<Floor>,
}

impl Stubborn {
    fn answer(&self, done: Done) -> Result<Done, Fault> {
        let attempts = self.attempts.get() + 1;
        self.attempts.set(attempts);
        if attempts == 2_000 {
            self.floor.end();
        }
        if attempts % 2 == 1 {
            Err(Fault::Refused("others".to_owned()))
        } else {
            Ok(done)
        }
    }
}

impl Target for Stubborn {
    async fn new_order(&self, _: &NewOrderInput) -> Result<Done, Fault> {
        self.answer(Done::Ordered { order: 1, total: 1 })
    }
    async fn payment(&self, _: &PaymentInput) -> Result<Done, Fault> {
        let (customer, balance) = (1, 1);
        self.answer(Done::Paid { customer, balance })
    }
    async fn order_status(&self, _: &OrderStatusInput) -> Result<Done, Fault> {
        self.answer(Done::Low(1))
    }
    async fn delivery(&self, _: &DeliveryInput) -> Result<Done, Fault> {
        self.answer(Done::Delivered(vec![(3, 1)]))
    }
    async fn low_stock(&self, _: &LowStockInput) -> Result<Done, Fault> {
        self.answer(Done::Low(1))
    }
}

#[tokio::test]
async fn refused_attempts_are_tried_again_and_counted() {
    let floor = Rc::new(Floor::default());
    floor.measure();
    let target = Stubborn {
        attempts: Cell::new(0),
        floor: floor.clone(),
    };
    let constants = Constants::of_load(&mut Random::new(1));
    let draw = Draw::new(Mix::Full, (1, Scale::FULL), constants, (1, 1, 0));
    let (senders, mut receivers) = queues(1);
    let queue = receivers.pop().unwrap();
    let (worked, delivered) = tokio::join!(
        work(
            &target,
            draw,
            Waits::Fastest,
            (floor.clone(), senders),
            || 7
        ),
        deliver(&target, queue, floor.clone(), || 8),
    );
    worked.unwrap();
    delivered.unwrap();
    let tally = floor.tally();
    let counts: Vec<usize> = tally.kinds.values().map(|of| of.took.len()).collect();
    // What ends behind the floor does not count.
    let counted = counts.iter().sum::<usize>();
    assert!((900..1_000).contains(&counted), "{counted}");
    let deliveries = tally.deliveries.len();
    assert!(deliveries > 20, "{deliveries}");
    assert!(
        tally
            .deliveries
            .iter()
            .all(|of| of.queued_ms == 7 && of.done_ms == 8)
    );
    let refused: u64 = tally.kinds.values().map(|of| of.refused).sum();
    assert!((counted as u64..=1_001).contains(&refused), "{refused}");
    assert_eq!(tally.delivered.keys().collect::<Vec<_>>(), [&(1, 3)]);
    assert!(tally.paid >= 430 * 100, "{}", tally.paid);
}
