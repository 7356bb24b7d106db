//! What carries out transactions.

use crate::input::{
    DeliveryInput, Input, LowStockInput, NewOrderInput, OrderStatusInput, PaymentInput,
};

/// The end of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// An order was entered.
    Ordered {
        /// Its number.
        order: u32,
        /// What it costs with taxes and discount, in cents.
        total: i64,
    },
    /// It named an item that there is not, and nothing of it happened.
    RolledBack,
    /// A payment was entered.
    Paid {
        /// Who paid.
        customer: u32,
        /// C_BALANCE, in cents.
        balance: i64,
    },
    /// The last order of a customer.
    Status {
        /// Whose.
        customer: u32,
        /// C_BALANCE, in cents.
        balance: i64,
        /// Its number; a customer may have none.
        order: Option<u32>,
        /// Its lines.
        lines: usize,
    },
    /// The orders that were delivered: one of each district that had one.
    Delivered(Vec<(u8, u32)>),
    /// So many items are few.
    Low(usize),
}

/// Why an attempt came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Others were in its way, and nothing of it happened: it is tried again.
    #[error("refused: {0}")]
    Refused(String),
    /// No server answers for now, and nothing of it happened: it is tried again.
    #[error("not available: {0}")]
    Unavailable(String),
    /// Nobody could tell whether it happened.
    #[error("nobody can tell whether it happened: {0}")]
    Unknown(String),
    /// It cannot be done: the database is another than was loaded, or its server fails.
    #[error("{0}")]
    Failed(String),
}

/// A connection of a terminal to a database.
#[allow(async_fn_in_trait, reason = "all that uses it stays on one thread")]
pub trait Target {
    /// Enters an order.
    async fn new_order(&self, input: &NewOrderInput) -> Result<Done, Fault>;
    /// Enters a payment.
    async fn payment(&self, input: &PaymentInput) -> Result<Done, Fault>;
    /// Looks up the last order of a customer.
    async fn order_status(&self, input: &OrderStatusInput) -> Result<Done, Fault>;
    /// Delivers an order of each district.
    async fn delivery(&self, input: &DeliveryInput) -> Result<Done, Fault>;
    /// Counts items of which there are few.
    async fn low_stock(&self, input: &LowStockInput) -> Result<Done, Fault>;

    /// One attempt at a transaction.
    async fn attempt(&self, input: &Input) -> Result<Done, Fault> {
        match input {
            Input::NewOrder(input) => self.new_order(input).await,
            Input::Payment(input) => self.payment(input).await,
            Input::OrderStatus(input) => self.order_status(input).await,
            Input::Delivery(input) => self.delivery(input).await,
            Input::LowStock(input) => self.low_stock(input).await,
        }
    }
}

/// The number of the customer in the middle, rounded up, of those of a last name in the order of first names.
pub fn middle(numbers: &[u32]) -> Option<u32> {
    numbers
        .get(numbers.len().div_ceil(2).checked_sub(1)?)
        .copied()
}

/// What an order costs, in cents: its lines with taxes and discount, in parts of 10,000.
pub fn total(amount: i64, discount: u16, taxes: [u16; 2]) -> i64 {
    let taxes: i64 = taxes.into_iter().map(i64::from).sum();
    let exact =
        i128::from(amount) * i128::from(10_000 - i64::from(discount)) * i128::from(10_000 + taxes);
    (exact / 100_000_000) as i64
}

/// The quantity of an item after so many were taken (clause 2.4.2.2).
pub fn left(quantity: i32, taken: u8) -> i32 {
    let taken = i32::from(taken);
    if quantity >= taken + 10 {
        quantity - taken
    } else {
        quantity - taken + 91
    }
}

/// C_DATA of a customer of bad credit after a payment (clause 2.5.2.2).
pub fn noted(data: &str, input: &PaymentInput, customer: u32) -> String {
    let (warehouse, district) = input.of;
    let (home, at, amount) = (input.warehouse, input.district, input.amount);
    let mut noted = format!("{customer} {district} {warehouse} {at} {home} {amount}|{data}");
    noted.truncate(500);
    noted
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
