//! Delivery: four rounds, behind a lock, for two deliveries of a warehouse would take the same orders.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;

use super::rows::pair;
use super::{Txn, decoded, order_of, row};
use crate::input::DeliveryInput;
use crate::key::{Key, Table};
use crate::rows::{Account, Line, Order};
use crate::scale::{DISTRICTS, LINES};
use crate::target::{Done, Fault};

/// Delivers the oldest order of each district; from those on that are known to be delivered, for deleted rows take time.
pub async fn delivery(
    txn: &Txn,
    input: &DeliveryInput,
    delivered: &BTreeMap<(u32, u8), u32>,
) -> Result<Done, Fault> {
    let of = |table| Key::of(input.warehouse, table);
    txn.get_locked(&[of(Table::Delivery)]).await?;
    let oldest = (1..=DISTRICTS).map(|district| {
        let prefix = of(Table::NewOrder).small(district);
        let known = delivered.get(&(input.warehouse, district));
        let start = prefix.clone().number(known.copied().unwrap_or(0));
        async move { txn.page(&prefix, &start, 1).await }
    });
    let found = try_join_all(oldest).await?;
    let mut orders: Vec<(u8, u32)> = Vec::new();
    for (key, _) in found.iter().flatten() {
        let order = order_of(key);
        orders.push(order.ok_or_else(|| Fault::Failed("a new order has another key".to_owned()))?);
    }
    if orders.is_empty() {
        txn.0.abort();
        return Ok(Done::Delivered(orders));
    }
    let order_key = |&(district, order): &(u8, u32)| of(Table::Order).small(district).number(order);
    let keys: Vec<Key> = orders.iter().map(order_key).collect();
    let lines = orders.iter().map(|&(district, order)| {
        let prefix = of(Table::Line).small(district).number(order);
        async move { txn.page(&prefix, &prefix, LINES).await }
    });
    let (values, lines) = tokio::join!(txn.get(&keys), try_join_all(lines));
    let (values, lines) = (values?, lines?);
    let mut owed: BTreeMap<Key, (i64, u32)> = BTreeMap::new();
    let of_orders = orders.iter().zip(&keys).zip(values).zip(lines);
    for (((&(district, number), key), value), lines) in of_orders {
        let order: Order = row(value, key)?;
        let carrier = Some(input.carrier);
        txn.delete(&of(Table::NewOrder).small(district).number(number))?;
        txn.put(pair(key.clone(), &Order { carrier, ..order }))?;
        let account = of(Table::Account).small(district).number(order.customer);
        let owed = owed.entry(account).or_default();
        owed.1 += 1;
        for (count, (_, value)) in (1..).zip(lines) {
            let key = of(Table::Line).small(district).number(number).small(count);
            let line: Option<Line> = decoded(&value);
            let line = line.ok_or_else(|| Fault::Failed("a line cannot be read".to_owned()))?;
            owed.0 += line.amount;
            let delivery_ms = Some(input.date_ms);
            txn.put(pair(
                key,
                &Line {
                    delivery_ms,
                    ..line
                },
            ))?;
        }
    }
    let accounts: Vec<Key> = owed.keys().cloned().collect();
    let values = txn.get(&accounts).await?;
    for ((key, (amount, deliveries)), value) in owed.into_iter().zip(values) {
        let account: Account = row(value, &key)?;
        let account = Account {
            balance: account.balance + amount,
            deliveries: account.deliveries + deliveries,
            ..account
        };
        txn.put(pair(key, &account))?;
    }
    txn.commit().await?;
    Ok(Done::Delivered(orders))
}
