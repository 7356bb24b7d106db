//! Rows as they are loaded, in memory: for tests of the conditions.

use crate::population::Population;
use crate::rows::{CustomerId, Row};
use crate::tables::{DistrictState, Tables};

/// All that is loaded, without a database.
pub fn loaded(warehouses: u32, population: Population) -> Tables {
    let mut tables = Tables::default();
    for warehouse in 1..=warehouses {
        for piece in population.pieces() {
            for row in population.rows(warehouse, piece) {
                add(&mut tables, warehouse, row);
            }
        }
    }
    tables.payments.sort();
    tables
}

fn add(tables: &mut Tables, warehouse: u32, row: Row) {
    match row {
        Row::Item(..) | Row::Names(..) => {}
        Row::Warehouse(row) => drop(tables.warehouses.insert(warehouse, row.ytd)),
        Row::Stock(item, row) => {
            tables.quantities.insert((warehouse, item), row.quantity);
        }
        Row::District(district, row) => {
            let state = DistrictState {
                ytd: row.ytd,
                next_order: row.next_order,
            };
            tables.districts.insert((warehouse, district), state);
        }
        Row::Customer(district, number, row) => {
            let id = CustomerId {
                warehouse,
                district,
                number,
            };
            tables.accounts.insert(id, row.account);
            tables.data.insert(id, row.data);
        }
        Row::Payment(district, _, payment) => {
            tables.payments.push(((warehouse, district), payment));
        }
        Row::Order(district, number, order) => {
            tables.orders.insert((warehouse, district, number), order);
        }
        Row::Line(district, order, number, line) => {
            let id = (warehouse, district, order);
            tables.lines.insert((id, number), line);
        }
        Row::NewOrder(district, number) => {
            tables.new_orders.insert((warehouse, district, number));
        }
    }
}
