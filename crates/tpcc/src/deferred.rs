//! Deliveries, which terminals queue and do not wait for (clause 2.7): those of a warehouse one after the other, each with a
//! line in the log of results.

use std::fmt;
use std::time::Instant;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::input::DeliveryInput;

/// A terminal waits while so many deliveries of a warehouse are queued.
const QUEUED_MAX: usize = 1_000;

/// A delivery that is queued, and since when.
pub type Queued = (DeliveryInput, Instant);

/// The queues of all warehouses: where terminals put deliveries, and where they are taken from.
pub fn queues(warehouses: u32) -> (Vec<Sender<Queued>>, Vec<Receiver<Queued>>) {
    (0..warehouses).map(|_| channel(QUEUED_MAX)).unzip()
}

/// A delivery that is done, as the log of results has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// When it was queued, in milliseconds since 1970.
    pub queued_ms: i64,
    /// When it was done.
    pub done_ms: i64,
    /// The warehouse.
    pub warehouse: u32,
    /// O_CARRIER_ID.
    pub carrier: u8,
    /// The orders that were delivered, by district; a district that had none is left out.
    pub orders: Vec<(u8, u32)>,
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (queued, done) = (self.queued_ms, self.done_ms);
        let (warehouse, carrier) = (self.warehouse, self.carrier);
        write!(
            f,
            "queued_ms={queued} done_ms={done} warehouse={warehouse} carrier={carrier} orders="
        )?;
        for (count, (district, order)) in self.orders.iter().enumerate() {
            let comma = if count == 0 { "" } else { "," };
            write!(f, "{comma}{district}:{order}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "deferred_tests.rs"]
mod tests;
