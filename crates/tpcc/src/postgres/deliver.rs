//! Delivery: three rounds.

use std::collections::BTreeMap;

use super::{Isolation, Postgres, number, small, small_of, unsigned};
use crate::input::DeliveryInput;
use crate::target::{Done, Fault};

impl Postgres {
    pub(super) async fn deliver(&self, input: &DeliveryInput) -> Result<Done, Fault> {
        let statements = &self.statements.deliver;
        let home = number(input.warehouse);
        let lock = async {
            match self.isolation {
                // Statements behind it see the deliveries of others.
                Isolation::ReadCommitted => {
                    let warehouse = i64::from(input.warehouse);
                    rows!(self, &statements.lock, warehouse).await.map(drop)
                }
                Isolation::Serializable => Ok(()),
            }
        };
        let oldest = rows!(self, &statements.oldest, home);
        let (began, locked, oldest) = tokio::join!(self.begin(), lock, oldest);
        began?;
        locked?;
        let oldest = oldest?.into_iter();
        let orders: Vec<(u8, u32)> = oldest
            .map(|row| (small_of(&row, 0), unsigned(&row, 1)))
            .collect();
        let all = orders
            .iter()
            .map(|(district, order)| (small(*district), number(*order)));
        let (districts, numbers): (Vec<i32>, Vec<i32>) = all.unzip();
        let carrier = small(input.carrier);
        let (deleted, updated, lines, sums) = tokio::join!(
            rows!(self, &statements.delete, home, districts, numbers),
            rows!(self, &statements.orders, home, districts, numbers, carrier),
            rows!(
                self,
                &statements.lines,
                home,
                districts,
                numbers,
                input.date_ms
            ),
            rows!(self, &statements.sums, home, districts, numbers),
        );
        // The first that fails says why, and those behind it that it has failed.
        deleted?;
        let customers = updated?;
        lines?;
        let sums: BTreeMap<i32, i64> = sums?.iter().map(|row| (row.get(0), row.get(1))).collect();
        let districts: Vec<i32> = customers.iter().map(|row| row.get(0)).collect();
        let amount = |district: &i32| sums.get(district).copied().unwrap_or(0);
        let amounts: Vec<i64> = districts.iter().map(amount).collect();
        let customers: Vec<i32> = customers.iter().map(|row| row.get(1)).collect();
        let (paid, committed) = tokio::join!(
            rows!(
                self,
                &statements.customers,
                home,
                districts,
                customers,
                amounts
            ),
            self.commit(),
        );
        paid?;
        committed?;
        Ok(Done::Delivered(orders))
    }
}
