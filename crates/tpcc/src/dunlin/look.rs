//! OrderStatus and StockLevel, which write nothing.

use std::collections::BTreeSet;

use super::stock::split;
use super::{Txn, decoded, row, unreadable};
use crate::input::{LowStockInput, OrderStatusInput};
use crate::key::{Key, KeyReader, Table};
use crate::rows::{Account, CustomerInfo, Line, Order};
use crate::scale::LINES;
use crate::target::{Done, Fault};

/// Orders whose items are counted.
const RECENT: u32 = 20;

/// The last order of a customer.
pub async fn order_status(txn: &Txn, input: &OrderStatusInput) -> Result<Done, Fault> {
    let district = input.district;
    let of = |table| Key::of(input.warehouse, table).small(district);
    let number = txn.number((input.warehouse, district), &input.who).await?;
    let keys = [Table::Customer, Table::Account].map(|table| of(table).number(number));
    let prefix = of(Table::Newest).number(number);
    let (values, page) = tokio::join!(txn.get(&keys), txn.page(&prefix, &prefix, 1));
    let (values, page) = (values?, page?);
    let mut values = values.into_iter().zip(&keys);
    let mut next = || values.next().unwrap_or((None, &keys[0]));
    let (info, key) = next();
    let _info: CustomerInfo = row(info, key)?;
    let (account, key) = next();
    let account: Account = row(account, key)?;
    let newest = page.first().and_then(|(key, _)| {
        let mut parts = KeyReader::of(key)?;
        let _customer = (parts.small()?, parts.number()?);
        parts.downwards()
    });
    let mut lines = Vec::new();
    if let Some(order) = newest {
        let key = [of(Table::Order).number(order)];
        let prefix = of(Table::Line).number(order);
        let (value, page) = tokio::join!(txn.get(&key), txn.page(&prefix, &prefix, LINES));
        let _order: Order = row(value?.pop().flatten(), &key[0])?;
        lines = page?;
    }
    Ok(Done::Status {
        customer: number,
        balance: account.balance,
        order: newest,
        lines: lines.len(),
    })
}

/// Items of the last orders of a district of which there are few.
pub async fn low_stock(txn: &Txn, input: &LowStockInput) -> Result<Done, Fault> {
    let of = |table| Key::of(input.warehouse, table).small(input.district);
    let key = [of(Table::NextOrder)];
    let next: u32 = row(txn.get(&key).await?.pop().flatten(), &key[0])?;
    let (start, end) = (next.saturating_sub(RECENT), next.saturating_sub(1));
    let limit = LINES * RECENT as usize;
    let (start, last) = (of(Table::Line).number(start), of(Table::Line).number(end));
    // It ends before the orders that others enter meanwhile.
    let lines = txn.page(&last, &start, limit).await?;
    let items: Option<BTreeSet<u32>> = lines
        .iter()
        .map(|(_, value)| decoded::<Line>(value).map(|line| line.item))
        .collect();
    let items = items.ok_or_else(|| Fault::Failed("a line cannot be read".to_owned()))?;
    let stock = |item: u32| Key::of(input.warehouse, Table::Stock).number(item);
    let keys: Vec<Key> = items.into_iter().map(stock).collect();
    let mut low = 0;
    for value in txn.get(&keys).await? {
        let value = value.unwrap_or_default();
        let (quantity, _) = unreadable(split(&value))?;
        low += usize::from(quantity.quantity < input.threshold);
    }
    Ok(Done::Low(low))
}
