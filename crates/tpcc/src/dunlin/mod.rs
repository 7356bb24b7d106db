//! Dunlin by its direct client.
//!
//! - `rows`: rows as keys and values; `load`: loading; `dump`: all rows of a warehouse
//! - `order`, `pay`, `deliver`, `look`: the transactions

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_client::{Client, ClientError, Direct, DirectTransaction};
use serde::de::DeserializeOwned;

use crate::input::{
    DeliveryInput, LowStockInput, NewOrderInput, OrderStatusInput, PaymentInput, Who,
};
use crate::key::{Key, KeyReader, Table};
use crate::target::{Done, Fault, Target, middle};

mod deliver;
mod dump;
pub mod load;
mod look;
mod order;
mod pay;
mod rows;
mod stock;

/// The keyspace of all rows.
pub const KEYSPACE: &str = "tpcc";

/// A terminal's connection. Clones share it.
#[derive(Clone)]
pub struct Dunlin {
    direct: Direct,
    /// Whether orders are found by their customers.
    keeps_newest: bool,
    /// The last order that was delivered here in each district: those before it are gone.
    delivered: Rc<RefCell<BTreeMap<(u32, u8), u32>>>,
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Fault {
        let text = error.to_string();
        match error {
            ClientError::Conflict(_) => Fault::Refused(text),
            ClientError::Ambiguous { .. } => Fault::Unknown(text),
            error if error.is_retryable() => Fault::Unavailable(text),
            _ => Fault::Failed(text),
        }
    }
}

/// A row that must be there.
fn row<T: DeserializeOwned>(value: Option<Bytes>, of: &Key) -> Result<T, Fault> {
    let missing = || Fault::Failed(format!("no row {}: load the warehouse", spelt(of)));
    let value = value.ok_or_else(missing)?;
    decoded(&value).ok_or_else(|| Fault::Failed(format!("row {} cannot be read", spelt(of))))
}

fn spelt(key: &Key) -> String {
    key.bytes().escape_ascii().to_string()
}

fn unreadable<T>(found: Option<T>) -> Result<T, Fault> {
    found.ok_or_else(|| Fault::Failed("a row cannot be read".to_owned()))
}

fn decoded<T: DeserializeOwned>(value: &[u8]) -> Option<T> {
    postcard::from_bytes(value).ok()
}

/// A transaction, with keys of the one keyspace.
struct Txn(DirectTransaction);

impl Txn {
    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Fault> {
        let keys: Vec<(&str, &[u8])> = keys.iter().map(|key| (KEYSPACE, key.bytes())).collect();
        Ok(self.0.get_many(&keys).await?)
    }

    /// The same, once it is this transaction's turn to use the first of them.
    async fn get_locked(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Fault> {
        let keys: Vec<(&str, &[u8])> = keys.iter().map(|key| (KEYSPACE, key.bytes())).collect();
        Ok(self.0.get_many_locked(&keys).await?)
    }

    /// Keys that begin with a prefix, from `start` on.
    async fn page(
        &self,
        prefix: &Key,
        start: &Key,
        limit: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, Fault> {
        let end = prefix.clone().behind();
        let page = self
            .0
            .scan(KEYSPACE, start.bytes(), Some(end.bytes()), limit);
        Ok(page.await?)
    }

    fn put(&self, (key, value): (Key, Bytes)) -> Result<(), Fault> {
        Ok(self.0.put(KEYSPACE, key.bytes(), value)?)
    }

    fn delete(&self, key: &Key) -> Result<(), Fault> {
        Ok(self.0.delete(KEYSPACE, key.bytes())?)
    }

    /// The number of a customer.
    async fn number(&self, (warehouse, district): (u32, u8), who: &Who) -> Result<u32, Fault> {
        let last = match who {
            Who::Number(number) => return Ok(*number),
            Who::Last(last) => last,
        };
        let key = [Key::of(warehouse, Table::Names).small(district).text(last)];
        let names = self.get(&key).await?.pop().flatten();
        let numbers: Vec<u32> = row(names, &key[0])?;
        middle(&numbers).ok_or_else(|| Fault::Failed(format!("no customer {last}")))
    }

    async fn commit(&self) -> Result<(), Fault> {
        self.0.commit().await?;
        Ok(())
    }
}

impl Dunlin {
    /// A connection. Without the index of orders by customer, those that it enters are not found by OrderStatus.
    ///
    /// # Errors
    /// When the address cannot be read.
    pub fn new(at: &str, keeps_newest: bool) -> Result<Dunlin, Fault> {
        Ok(Dunlin::of(Client::new(at)?.direct(), keeps_newest))
    }

    /// The same over connections of others.
    pub fn of(direct: Direct, keeps_newest: bool) -> Dunlin {
        Dunlin {
            direct,
            keeps_newest,
            delivered: Rc::default(),
        }
    }

    /// Does a transaction; it is given up where that fails.
    async fn done(
        &self,
        body: impl AsyncFnOnce(&Txn) -> Result<Done, Fault>,
    ) -> Result<Done, Fault> {
        let txn = Txn(self.direct.begin());
        let done = body(&txn).await;
        if done.is_err() {
            txn.0.abort();
        }
        done
    }
}

/// A number of an order at the end of a key.
fn order_of(key: &[u8]) -> Option<(u8, u32)> {
    let mut parts = KeyReader::of(key)?;
    Some((parts.small()?, parts.number()?))
}

impl Target for Dunlin {
    async fn new_order(&self, input: &NewOrderInput) -> Result<Done, Fault> {
        let keeps_newest = self.keeps_newest;
        self.done(async |txn| order::new_order(txn, input, keeps_newest).await)
            .await
    }

    async fn payment(&self, input: &PaymentInput) -> Result<Done, Fault> {
        self.done(async |txn| pay::payment(txn, input).await).await
    }

    async fn order_status(&self, input: &OrderStatusInput) -> Result<Done, Fault> {
        self.done(async |txn| look::order_status(txn, input).await)
            .await
    }

    async fn delivery(&self, input: &DeliveryInput) -> Result<Done, Fault> {
        let delivered = self.delivered.borrow().clone();
        let done = self
            .done(async |txn| deliver::delivery(txn, input, &delivered).await)
            .await?;
        if let Done::Delivered(orders) = &done {
            let mut delivered = self.delivered.borrow_mut();
            for (district, order) in orders {
                delivered.insert((input.warehouse, *district), *order);
            }
        }
        Ok(done)
    }

    async fn low_stock(&self, input: &LowStockInput) -> Result<Done, Fault> {
        self.done(async |txn| look::low_stock(txn, input).await)
            .await
    }
}
