//! NewOrder: two rounds, for all keys are known before.

use std::collections::BTreeMap;

use super::rows::{newest, pair};
use super::stock::{district_info, split, stock};
use super::{Txn, row, unreadable};
use crate::input::NewOrderInput;
use crate::key::{Key, Table};
use crate::rows::{CustomerInfo, Item, Line, Order, Quantity, Site};
use crate::target::{Done, Fault, left, total};

/// Keys that are read besides those of lines.
const HEAD: usize = 4;
/// Keys that are read of a line.
const OF_LINE: usize = 2;

fn keys(input: &NewOrderInput) -> Vec<Key> {
    let home = |table| Key::of(input.warehouse, table);
    let district = input.district;
    let mut keys = vec![
        home(Table::NextOrder).small(district),
        home(Table::Warehouse),
        home(Table::District).small(district),
        home(Table::Customer).small(district).number(input.customer),
    ];
    for line in &input.lines {
        keys.push(home(Table::Item).number(line.item));
        keys.push(Key::of(line.supplier, Table::Stock).number(line.item));
    }
    keys
}

/// Enters an order.
pub async fn new_order(
    txn: &Txn,
    input: &NewOrderInput,
    keeps_newest: bool,
) -> Result<Done, Fault> {
    let keys = keys(input);
    let values = txn.get_locked(&keys).await?;
    let mut values = keys.iter().zip(values);
    let mut head = Vec::with_capacity(HEAD);
    head.extend(values.by_ref().take(HEAD));
    let lines: Vec<_> = values.collect();
    if lines.chunks(OF_LINE).any(|line| line[0].1.is_none()) {
        txn.0.abort();
        return Ok(Done::RolledBack);
    }
    let mut head = head.into_iter();
    let mut next = || head.next().unwrap_or((&keys[0], None));
    let number: u32 = of(next())?;
    let (warehouse, district): (Site, Site) = (of(next())?, of(next())?);
    let customer: CustomerInfo = of(next())?;
    txn.put(pair(keys[0].clone(), &(number + 1)))?;
    let mut stocks: BTreeMap<&Key, (Quantity, &[u8])> = BTreeMap::new();
    let (mut amount, of_order) = (
        0,
        Key::of(input.warehouse, Table::Line).small(input.district),
    );
    for ((count, ordered), read) in (1..).zip(&input.lines).zip(lines.chunks(OF_LINE)) {
        let item: Item = of(read[0].clone())?;
        let (quantity, rest) = match stocks.get(read[1].0) {
            Some(stock) => *stock,
            None => unreadable(read[1].1.as_deref().and_then(split))?,
        };
        let is_remote = ordered.supplier != input.warehouse;
        let quantity = Quantity {
            quantity: left(quantity.quantity, ordered.quantity),
            ytd: quantity.ytd + u32::from(ordered.quantity),
            orders: quantity.orders + 1,
            remote: quantity.remote + u32::from(is_remote),
        };
        stocks.insert(read[1].0, (quantity, rest));
        let line = Line {
            item: ordered.item,
            supplier: ordered.supplier,
            delivery_ms: None,
            quantity: ordered.quantity,
            amount: i64::from(ordered.quantity) * item.price,
            info: unreadable(district_info(rest, input.district))?,
        };
        amount += line.amount;
        txn.put(pair(of_order.clone().number(number).small(count), &line))?;
    }
    for (key, (quantity, rest)) in stocks {
        txn.put((key.clone(), stock(&quantity, rest)))?;
    }
    let order = Order {
        customer: input.customer,
        entry_ms: input.date_ms,
        carrier: None,
        lines: input.lines.len() as u8,
        is_local: input.lines.iter().all(|l| l.supplier == input.warehouse),
    };
    let of = |table| Key::of(input.warehouse, table).small(input.district);
    txn.put(pair(of(Table::Order).number(number), &order))?;
    txn.put((of(Table::NewOrder).number(number), Default::default()))?;
    if keeps_newest {
        let of_customer = (input.customer, number);
        txn.put(newest(input.warehouse, input.district, of_customer))?;
    }
    txn.commit().await?;
    let taxes = [warehouse.tax, district.tax];
    Ok(Done::Ordered {
        order: number,
        total: total(amount, customer.discount, taxes),
    })
}

fn of<T: serde::de::DeserializeOwned>(
    (key, value): (&Key, Option<bytes::Bytes>),
) -> Result<T, Fault> {
    row(value, key)
}
