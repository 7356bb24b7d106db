//! All rows, each warehouse read by one transaction: of several they are those of one moment where nobody writes.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::stock::split;
use super::{Dunlin, Txn, decoded, order_of, row, unreadable};
use crate::key::{Key, KeyReader, Table};
use crate::rows::{CustomerId, Payment};
use crate::scale::DISTRICTS;
use crate::tables::{DistrictState, Dump, Tables};
use crate::target::Fault;

impl Dump for Dunlin {
    async fn dump(&self, warehouses: u32) -> Result<Tables, Fault> {
        let mut tables = Tables::default();
        for warehouse in 1..=warehouses {
            let txn = Txn(self.direct.begin());
            txn.heads(warehouse, &mut tables).await?;
            txn.customers(warehouse, &mut tables).await?;
            txn.orders(warehouse, &mut tables).await?;
            txn.0.abort();
        }
        tables.payments.sort();
        Ok(tables)
    }
}

/// A row whose key is read, too.
fn read<K, V: DeserializeOwned>(
    (key, value): &(Bytes, Bytes),
    parts: impl FnOnce(KeyReader<'_>) -> Option<K>,
) -> Result<(K, V), Fault> {
    unreadable(KeyReader::of(key).and_then(parts).zip(decoded(value)))
}

impl Txn {
    /// All rows of a table in a warehouse.
    async fn all(&self, warehouse: u32, table: Table) -> Result<Vec<(Bytes, Bytes)>, Fault> {
        let prefix = Key::of(warehouse, table);
        self.page(&prefix, &prefix, usize::MAX / 2).await
    }

    /// Of the warehouse, its districts and its stock.
    async fn heads(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let keys = [Key::of(warehouse, Table::WarehouseYtd)];
        let ytd = self.get(&keys).await?.pop().flatten();
        tables.warehouses.insert(warehouse, row(ytd, &keys[0])?);
        for district in 1..=DISTRICTS {
            let keys = [Table::DistrictYtd, Table::NextOrder];
            let keys = keys.map(|table| Key::of(warehouse, table).small(district));
            let mut values = self.get(&keys).await?;
            let next_order = row(values.pop().flatten(), &keys[1])?;
            let ytd = row(values.pop().flatten(), &keys[0])?;
            let state = DistrictState { ytd, next_order };
            tables.districts.insert((warehouse, district), state);
        }
        for (key, value) in self.all(warehouse, Table::Stock).await? {
            let item = KeyReader::of(&key).and_then(|mut parts| parts.number());
            let stock = item.zip(split(&value));
            let (item, (quantity, _)) = unreadable(stock)?;
            tables.quantities.insert((warehouse, item), quantity);
        }
        Ok(())
    }

    async fn customers(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let id = |mut parts: KeyReader<'_>| {
            Some(CustomerId {
                warehouse,
                district: parts.small()?,
                number: parts.number()?,
            })
        };
        for found in self.all(warehouse, Table::Account).await? {
            let (id, account) = read(&found, id)?;
            tables.accounts.insert(id, account);
        }
        for found in self.all(warehouse, Table::CustomerData).await? {
            let (id, data) = read(&found, id)?;
            tables.data.insert(id, data);
        }
        for found in self.all(warehouse, Table::Payment).await? {
            let (district, payment): (u8, Payment) = read(&found, |mut parts| parts.small())?;
            tables.payments.push(((warehouse, district), payment));
        }
        Ok(())
    }

    async fn orders(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let id = |mut parts: KeyReader<'_>| Some((warehouse, parts.small()?, parts.number()?));
        for found in self.all(warehouse, Table::Order).await? {
            let (id, order) = read(&found, id)?;
            tables.orders.insert(id, order);
        }
        for (key, _) in self.all(warehouse, Table::NewOrder).await? {
            let (district, order) = unreadable(order_of(&key))?;
            tables.new_orders.insert((warehouse, district, order));
        }
        let line = |mut parts: KeyReader<'_>| {
            let id = (warehouse, parts.small()?, parts.number()?);
            Some((id, parts.small()?))
        };
        for found in self.all(warehouse, Table::Line).await? {
            let (id, line) = read(&found, line)?;
            tables.lines.insert(id, line);
        }
        Ok(())
    }
}
