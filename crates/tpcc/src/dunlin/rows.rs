//! Rows as keys and values.

use bytes::Bytes;
use serde::Serialize;

use super::stock::stock;
use crate::key::{Key, Table};
use crate::rows::Row;

/// A value of a row.
pub fn value(of: &impl Serialize) -> Bytes {
    // Only maps of unknown length and values that refuse to be written fail, and rows have none.
    postcard::to_allocvec(of)
        .map(Bytes::from)
        .unwrap_or_default()
}

/// A key with its value.
pub fn pair(key: Key, of: &impl Serialize) -> (Key, Bytes) {
    (key, value(of))
}

/// The keys and values of a row that is loaded.
pub fn pairs(warehouse: u32, row: &Row) -> Vec<(Key, Bytes)> {
    let of = |table| Key::of(warehouse, table);
    match row {
        Row::Item(number, item) => vec![pair(of(Table::Item).number(*number), item)],
        Row::Warehouse(row) => vec![
            pair(of(Table::Warehouse), &row.site),
            pair(of(Table::WarehouseYtd), &row.ytd),
        ],
        Row::Stock(item, row) => vec![(
            of(Table::Stock).number(*item),
            stock(&row.quantity, &value(&row.info)),
        )],
        Row::District(district, row) => vec![
            pair(of(Table::District).small(*district), &row.site),
            pair(of(Table::DistrictYtd).small(*district), &row.ytd),
            pair(of(Table::NextOrder).small(*district), &row.next_order),
        ],
        Row::Customer(district, number, row) => {
            let of = |table| of(table).small(*district).number(*number);
            vec![
                pair(of(Table::Customer), &row.info),
                pair(of(Table::Account), &row.account),
                pair(of(Table::CustomerData), &row.data),
            ]
        }
        Row::Names(district, last, numbers) => {
            vec![pair(of(Table::Names).small(*district).text(last), numbers)]
        }
        Row::Payment(district, id, payment) => {
            let key = of(Table::Payment).small(*district);
            vec![pair(key.large(id.run).large(id.number), payment)]
        }
        Row::Order(district, number, order) => vec![
            pair(of(Table::Order).small(*district).number(*number), order),
            newest(warehouse, *district, (order.customer, *number)),
        ],
        Row::Line(district, order, number, line) => {
            let key = of(Table::Line).small(*district).number(*order);
            vec![pair(key.small(*number), line)]
        }
        Row::NewOrder(district, number) => {
            let key = of(Table::NewOrder).small(*district).number(*number);
            vec![(key, Bytes::new())]
        }
    }
}

/// The row by which an order is found by its customer.
pub fn newest(warehouse: u32, district: u8, (customer, order): (u32, u32)) -> (Key, Bytes) {
    let key = Key::of(warehouse, Table::Newest).small(district);
    (key.number(customer).downwards(order), Bytes::new())
}
