//! NewOrder: two rounds.

use std::collections::BTreeMap;

use super::{Postgres, number, only, small, unsigned};
use crate::input::NewOrderInput;
use crate::rows::Quantity;
use crate::target::{Done, Fault, left, total};

/// New quantities, column by column.
#[derive(Default)]
struct SetStock {
    warehouses: Vec<i32>,
    items: Vec<i32>,
    quantities: Vec<i32>,
    ytds: Vec<i32>,
    orders: Vec<i32>,
    remotes: Vec<i32>,
}

/// Lines, column by column.
#[derive(Default)]
struct Lines {
    numbers: Vec<i32>,
    items: Vec<i32>,
    suppliers: Vec<i32>,
    quantities: Vec<i32>,
    amounts: Vec<i64>,
    infos: Vec<String>,
}

impl Postgres {
    pub(super) async fn enter_order(&self, input: &NewOrderInput) -> Result<Done, Fault> {
        let statements = &self.statements.order;
        let (home, district) = (number(input.warehouse), small(input.district));
        let customer = number(input.customer);
        let items: Vec<i32> = input.lines.iter().map(|line| number(line.item)).collect();
        let suppliers: Vec<i32> = input
            .lines
            .iter()
            .map(|line| number(line.supplier))
            .collect();
        let (began, who, taken, found, stock) = tokio::join!(
            self.begin(),
            rows!(self, &statements.customer, home, district, customer),
            rows!(self, &statements.number, home, district),
            rows!(self, &statements.items, items),
            rows!(self, &statements.stock, suppliers, items, district),
        );
        began?;
        let (who, taken) = (only(who?, "a customer")?, only(taken?, "a district")?);
        let prices = found?
            .into_iter()
            .map(|row| (unsigned(&row, 0), row.get::<_, i64>(1)));
        let prices: BTreeMap<u32, i64> = prices.collect();
        let mut stocks: BTreeMap<(u32, u32), (Quantity, String)> = BTreeMap::new();
        for row in stock? {
            let quantity = Quantity {
                quantity: row.get(2),
                ytd: unsigned(&row, 3),
                orders: unsigned(&row, 4),
                remote: unsigned(&row, 5),
            };
            let id = (unsigned(&row, 0), unsigned(&row, 1));
            stocks.insert(id, (quantity, row.get(6)));
        }
        let order = unsigned(&taken, 0);
        let (mut lines, mut amount) = (Lines::default(), 0);
        for (count, line) in (1..).zip(&input.lines) {
            let Some(price) = prices.get(&line.item) else {
                self.run(&self.statements.rollback).await?;
                return Ok(Done::RolledBack);
            };
            let stock = stocks.get_mut(&(line.supplier, line.item));
            let missing = || Fault::Failed(format!("no stock of item {}", line.item));
            let (stock, info) = stock.ok_or_else(missing)?;
            let is_remote = line.supplier != input.warehouse;
            *stock = Quantity {
                quantity: left(stock.quantity, line.quantity),
                ytd: stock.ytd + u32::from(line.quantity),
                orders: stock.orders + 1,
                remote: stock.remote + u32::from(is_remote),
            };
            amount += i64::from(line.quantity) * price;
            lines.numbers.push(count);
            lines.items.push(number(line.item));
            lines.suppliers.push(number(line.supplier));
            lines.quantities.push(small(line.quantity));
            lines.amounts.push(i64::from(line.quantity) * price);
            lines.infos.push(info.clone());
        }
        let mut set = SetStock::default();
        for ((warehouse, item), (quantity, _)) in &stocks {
            set.warehouses.push(number(*warehouse));
            set.items.push(number(*item));
            set.quantities.push(quantity.quantity);
            set.ytds.push(number(quantity.ytd));
            set.orders.push(number(quantity.orders));
            set.remotes.push(number(quantity.remote));
        }
        self.insert(input, order, (&set, &lines)).await?;
        let taxes = [who.get::<_, i32>(0) as u16, taken.get::<_, i32>(1) as u16];
        Ok(Done::Ordered {
            order,
            total: total(amount, who.get::<_, i32>(1) as u16, taxes),
        })
    }

    async fn insert(
        &self,
        input: &NewOrderInput,
        order: u32,
        (set, lines): (&SetStock, &Lines),
    ) -> Result<(), Fault> {
        let statements = &self.statements.order;
        let (home, district, order) = (
            number(input.warehouse),
            small(input.district),
            number(order),
        );
        let (customer, count) = (number(input.customer), input.lines.len() as i32);
        let is_local = input.lines.iter().all(|l| l.supplier == input.warehouse);
        let (stock, inserted, inserted_new, inserted_lines, committed) = tokio::join!(
            rows!(
                self,
                &statements.set_stock,
                set.warehouses,
                set.items,
                set.quantities,
                set.ytds,
                set.orders,
                set.remotes,
            ),
            rows!(
                self,
                &statements.insert,
                home,
                district,
                order,
                customer,
                input.date_ms,
                count,
                is_local,
            ),
            rows!(self, &statements.insert_new, home, district, order),
            rows!(
                self,
                &statements.insert_lines,
                home,
                district,
                order,
                lines.numbers,
                lines.items,
                lines.suppliers,
                lines.quantities,
                lines.amounts,
                lines.infos,
            ),
            self.commit(),
        );
        stock.and(inserted).and(inserted_new).and(inserted_lines)?;
        committed
    }
}
