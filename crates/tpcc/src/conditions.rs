//! The consistency conditions (clause 3.3.2 of TPC-C 5.11).

use std::collections::BTreeMap;

use crate::rows::CustomerId;
use crate::scale::Scale;
use crate::tables::{DistrictId, OrderId, Tables};

/// A condition that does not hold, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Its number.
    pub condition: usize,
    /// Where, and by what.
    pub line: String,
}

/// Orders that were delivered since the load, by all who were answered; none right after it.
pub type Delivered = BTreeMap<DistrictId, u32>;

/// Checks all conditions. The eleventh is, after a run: orders less new orders are those that the load delivered and `delivered`;
/// it is left out where these are not known.
pub fn check(tables: &Tables, scale: Scale, delivered: Option<&Delivered>) -> Vec<Broken> {
    let sums = Sums::of(tables);
    let mut broken = Violations(Vec::new());
    of_warehouses(tables, &sums, &mut broken);
    of_districts(tables, &sums, &mut broken);
    of_orders(tables, &sums, &mut broken);
    of_customers(tables, &sums, &mut broken);
    if let Some(delivered) = delivered {
        for &id in tables.districts.keys() {
            let (orders, new) = (sums.orders_of(id).count, sums.new_orders_of(id).count);
            let wanted = scale.delivered() + delivered.get(&id).copied().unwrap_or(0);
            broken.unless(11, orders == new + wanted, || {
                format!("district {id:?}: {orders} orders, {new} new ones, {wanted} delivered")
            });
        }
    }
    broken.0
}

struct Violations(Vec<Broken>);

impl Violations {
    fn unless(&mut self, condition: usize, holds: bool, line: impl FnOnce() -> String) {
        if !holds {
            let line = line();
            self.0.push(Broken { condition, line });
        }
    }
}

/// Numbers of orders of a district.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    count: u32,
    least: u32,
    greatest: u32,
}

impl Numbers {
    fn add(&mut self, number: u32) {
        self.least = if self.count == 0 {
            number
        } else {
            self.least.min(number)
        };
        self.greatest = self.greatest.max(number);
        self.count += 1;
    }
}

/// What rows sum up to.
#[derive(Default)]
struct Sums {
    orders: BTreeMap<DistrictId, Numbers>,
    new_orders: BTreeMap<DistrictId, Numbers>,
    /// O_OL_CNT of all orders of a district.
    counted: BTreeMap<DistrictId, u64>,
    /// Lines of a district.
    lines: BTreeMap<DistrictId, u64>,
    /// Lines of an order, and how many of them are delivered.
    of_order: BTreeMap<OrderId, (u32, u32)>,
    /// OL_AMOUNT of lines that are delivered.
    delivered: BTreeMap<CustomerId, i64>,
    /// H_AMOUNT by the customer.
    paid: BTreeMap<CustomerId, i64>,
    /// H_AMOUNT by the district that took it.
    taken: BTreeMap<DistrictId, i64>,
}

impl Sums {
    fn of(tables: &Tables) -> Sums {
        let mut sums = Sums::default();
        for (&(warehouse, district, number), order) in &tables.orders {
            let id = (warehouse, district);
            sums.orders.entry(id).or_default().add(number);
            *sums.counted.entry(id).or_default() += u64::from(order.lines);
        }
        for &(warehouse, district, number) in &tables.new_orders {
            let of_district = sums.new_orders.entry((warehouse, district));
            of_district.or_default().add(number);
        }
        for (&(id, _), line) in &tables.lines {
            let (warehouse, district, _) = id;
            *sums.lines.entry((warehouse, district)).or_default() += 1;
            let of_order = sums.of_order.entry(id).or_default();
            of_order.0 += 1;
            if line.delivery_ms.is_none() {
                continue;
            }
            of_order.1 += 1;
            if let Some(order) = tables.orders.get(&id) {
                let customer = CustomerId {
                    warehouse,
                    district,
                    number: order.customer,
                };
                *sums.delivered.entry(customer).or_default() += line.amount;
            }
        }
        for (id, payment) in &tables.payments {
            *sums.taken.entry(*id).or_default() += payment.amount;
            *sums.paid.entry(payment.customer).or_default() += payment.amount;
        }
        sums
    }

    fn orders_of(&self, id: DistrictId) -> Numbers {
        self.orders.get(&id).copied().unwrap_or_default()
    }

    fn new_orders_of(&self, id: DistrictId) -> Numbers {
        self.new_orders.get(&id).copied().unwrap_or_default()
    }
}

/// 1 and 8.
fn of_warehouses(tables: &Tables, sums: &Sums, broken: &mut Violations) {
    for (&warehouse, &ytd) in &tables.warehouses {
        let of_it = tables
            .districts
            .iter()
            .filter(|((of, _), _)| *of == warehouse);
        let districts: i64 = of_it.map(|(_, district)| district.ytd).sum();
        broken.unless(1, ytd == districts, || {
            format!("warehouse {warehouse}: W_YTD {ytd}, its districts {districts}")
        });
        let of_it = sums.taken.iter().filter(|((of, _), _)| *of == warehouse);
        let taken: i64 = of_it.map(|(_, amount)| amount).sum();
        broken.unless(8, ytd == taken, || {
            format!("warehouse {warehouse}: W_YTD {ytd}, its payments {taken}")
        });
    }
}

/// 2, 3, 4 and 9.
fn of_districts(tables: &Tables, sums: &Sums, broken: &mut Violations) {
    for (&id, district) in &tables.districts {
        let last = district.next_order.saturating_sub(1);
        let (orders, new) = (sums.orders_of(id), sums.new_orders_of(id));
        let is_last_new = new.count == 0 || new.greatest == last;
        broken.unless(2, orders.greatest == last && is_last_new, || {
            let (order, new) = (orders.greatest, new.greatest);
            format!("district {id:?}: D_NEXT_O_ID - 1 is {last}, the last order {order}, the last new one {new}")
        });
        let dense = new.count == 0 || new.greatest - new.least + 1 == new.count;
        broken.unless(3, dense, || {
            let Numbers {
                count,
                least,
                greatest,
            } = new;
            format!("district {id:?}: {count} new orders from {least} to {greatest}")
        });
        let counted = sums.counted.get(&id).copied().unwrap_or(0);
        let lines = sums.lines.get(&id).copied().unwrap_or(0);
        broken.unless(4, counted == lines, || {
            format!("district {id:?}: its orders count {counted} lines, and there are {lines}")
        });
        let (ytd, taken) = (district.ytd, sums.taken.get(&id).copied().unwrap_or(0));
        broken.unless(9, ytd == taken, || {
            format!("district {id:?}: D_YTD {ytd}, its payments {taken}")
        });
    }
}

/// 5, 6 and 7.
fn of_orders(tables: &Tables, sums: &Sums, broken: &mut Violations) {
    for (id, order) in &tables.orders {
        let is_new = tables.new_orders.contains(id);
        broken.unless(5, order.carrier.is_none() == is_new, || {
            format!("order {id:?}: carrier {:?}, new {is_new}", order.carrier)
        });
        let (lines, delivered) = sums.of_order.get(id).copied().unwrap_or_default();
        broken.unless(6, u32::from(order.lines) == lines, || {
            format!("order {id:?}: O_OL_CNT {}, {lines} lines", order.lines)
        });
        let wanted = if order.carrier.is_some() { lines } else { 0 };
        broken.unless(7, delivered == wanted, || {
            format!(
                "order {id:?}: carrier {:?}, {delivered} of {lines} lines delivered",
                order.carrier
            )
        });
    }
    let unknown = tables
        .new_orders
        .iter()
        .filter(|id| !tables.orders.contains_key(*id));
    for id in unknown {
        broken.unless(5, false, || format!("new order {id:?} is no order"));
    }
    let unknown = sums
        .of_order
        .keys()
        .filter(|id| !tables.orders.contains_key(*id));
    for id in unknown {
        broken.unless(6, false, || format!("lines of {id:?}, which is no order"));
    }
}

/// 10 and 12.
fn of_customers(tables: &Tables, sums: &Sums, broken: &mut Violations) {
    for (id, account) in &tables.accounts {
        let delivered = sums.delivered.get(id).copied().unwrap_or(0);
        let paid = sums.paid.get(id).copied().unwrap_or(0);
        let balance = account.balance;
        broken.unless(10, balance == delivered - paid, || {
            format!("customer {id:?}: C_BALANCE {balance}, {delivered} delivered, {paid} paid")
        });
        let both = balance + account.ytd_payment;
        broken.unless(12, both == delivered, || {
            format!("customer {id:?}: C_BALANCE and C_YTD_PAYMENT {both}, {delivered} delivered")
        });
    }
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
