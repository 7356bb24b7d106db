//! The rows of a warehouse when it is loaded (clause 4.3.3 of TPC-C 5.11): the same for the same seed.

use std::collections::BTreeMap;

use crate::random::{Constants, Random, last_name};
use crate::rows::{
    Account, Customer, CustomerId, CustomerInfo, District, Item, Line, Order, Payment, PaymentId,
    Quantity, Row, Site, Stock, StockInfo, Warehouse,
};
use crate::scale::{DISTRICTS, PAID, Scale};

/// Items of a piece.
const PIECE: u32 = 5_000;
/// Customers that have the last names 0 to 999, one each.
const NAMED: u32 = 1_000;
/// The run of payments that are loaded.
const LOADED: u64 = 0;

/// What the rows of all warehouses are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Population {
    /// How many.
    pub scale: Scale,
    /// Of all random values.
    pub seed: u64,
    /// The date of all loaded rows.
    pub date_ms: i64,
}

/// Rows of a warehouse that are made together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The warehouse.
    Warehouse,
    /// Items from this number on.
    Items(u32),
    /// Stock of items from this number on.
    Stock(u32),
    /// A district with all that is in it.
    District(u8),
}

impl Population {
    /// The constants that last names are drawn with.
    pub fn constants(&self) -> Constants {
        Constants::of_load(&mut Random::new(self.seed))
    }

    /// The pieces of a warehouse, in the order in which they are loaded.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let starts = (1..=self.scale.items).step_by(PIECE as usize);
        let items = starts.clone().map(Piece::Items);
        let stock = starts.map(Piece::Stock);
        let districts = (1..=DISTRICTS).map(Piece::District);
        [Piece::Warehouse]
            .into_iter()
            .chain(items)
            .chain(stock)
            .chain(districts)
    }

    /// The rows of a piece.
    pub fn rows(&self, warehouse: u32, piece: Piece) -> Vec<Row> {
        let user = |kind: u64, number: u32| kind << 40 | u64::from(number);
        let of = u64::from(warehouse) << 48;
        match piece {
            Piece::Warehouse => {
                let random = &mut Random::of(self.seed, of | user(1, 0));
                vec![Row::Warehouse(Warehouse {
                    site: site(random),
                    ytd: self.scale.warehouse_ytd(),
                })]
            }
            // The same in all warehouses.
            Piece::Items(from) => {
                let random = &mut Random::of(self.seed, user(2, from));
                let numbers = self.numbers(from);
                numbers.map(|n| Row::Item(n, item(random))).collect()
            }
            Piece::Stock(from) => {
                let random = &mut Random::of(self.seed, of | user(3, from));
                let numbers = self.numbers(from);
                numbers.map(|n| Row::Stock(n, stock(random))).collect()
            }
            Piece::District(district) => {
                let number = u32::from(district);
                let random = &mut Random::of(self.seed, of | user(4, number));
                self.district(random, warehouse, district)
            }
        }
    }

    fn numbers(&self, from: u32) -> impl Iterator<Item = u32> + use<> {
        from..(from + PIECE).min(self.scale.items + 1)
    }

    fn district(&self, random: &mut Random, warehouse: u32, district: u8) -> Vec<Row> {
        let mut rows = vec![Row::District(
            district,
            District {
                site: site(random),
                ytd: self.scale.district_ytd(),
                next_order: self.scale.customers + 1,
            },
        )];
        let constants = self.constants();
        let mut names: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
        for number in 1..=self.scale.customers {
            let last = match number {
                1..=NAMED => last_name(number - 1),
                _ => random.last_name(constants, self.scale.customers),
            };
            let customer = self.customer(random, last.clone());
            let named = names.entry(last).or_default();
            named.push((customer.info.first.clone(), number));
            rows.push(Row::Customer(district, number, customer));
            let id = PaymentId {
                run: LOADED,
                number: u64::from(number),
            };
            let payment = Payment {
                customer: CustomerId {
                    warehouse,
                    district,
                    number,
                },
                date_ms: self.date_ms,
                amount: PAID,
                data: random.text(12, 24),
            };
            rows.push(Row::Payment(district, id, payment));
        }
        for (last, mut named) in names {
            named.sort();
            let numbers = named.into_iter().map(|(_, number)| number).collect();
            rows.push(Row::Names(district, last, numbers));
        }
        self.orders(random, (warehouse, district), &mut rows);
        rows
    }

    fn customer(&self, random: &mut Random, last: String) -> Customer {
        Customer {
            info: CustomerInfo {
                first: random.text(8, 16),
                middle: "OE".to_owned(),
                last,
                address: random.address(),
                phone: random.digits(16),
                since_ms: self.date_ms,
                is_good: !random.percent(10),
                credit_limit: 5_000_000,
                discount: random.number(0, 5_000) as u16,
            },
            account: Account {
                balance: -PAID,
                ytd_payment: PAID,
                payments: 1,
                deliveries: 0,
            },
            data: random.text(300, 500),
        }
    }

    /// An order of each customer, in any order of them.
    fn orders(&self, random: &mut Random, (warehouse, district): (u32, u8), rows: &mut Vec<Row>) {
        let mut customers: Vec<u32> = (1..=self.scale.customers).collect();
        random.shuffle(&mut customers);
        for (number, customer) in (1..).zip(customers) {
            let is_delivered = number <= self.scale.delivered();
            let order = Order {
                customer,
                entry_ms: self.date_ms,
                carrier: is_delivered.then(|| random.number(1, 10) as u8),
                lines: random.number(5, 15) as u8,
                is_local: true,
            };
            rows.push(Row::Order(district, number, order));
            for line in 1..=order.lines {
                let amount = if is_delivered {
                    0
                } else {
                    random.cents(1, 999_999)
                };
                let line_row = Line {
                    item: random.number(1, self.scale.items),
                    supplier: warehouse,
                    delivery_ms: is_delivered.then_some(self.date_ms),
                    quantity: 5,
                    amount,
                    info: random.text(24, 24),
                };
                rows.push(Row::Line(district, number, line, line_row));
            }
            if !is_delivered {
                rows.push(Row::NewOrder(district, number));
            }
        }
    }
}

fn site(random: &mut Random) -> Site {
    Site {
        name: random.text(6, 10),
        address: random.address(),
        tax: random.number(0, 2_000) as u16,
    }
}

fn item(random: &mut Random) -> Item {
    Item {
        image: random.number(1, 10_000),
        name: random.text(14, 24),
        price: random.cents(100, 10_000),
        data: random.data(),
    }
}

fn stock(random: &mut Random) -> Stock {
    Stock {
        quantity: Quantity {
            quantity: random.number(10, 100) as i32,
            ytd: 0,
            orders: 0,
            remote: 0,
        },
        info: StockInfo {
            districts: (0..DISTRICTS).map(|_| random.text(24, 24)).collect(),
            data: random.data(),
        },
    }
}

#[cfg(test)]
#[path = "population_tests.rs"]
mod tests;
