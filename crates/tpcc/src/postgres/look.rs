//! OrderStatus: two rounds, three where the customer is named; StockLevel: one.

use super::{Postgres, number, only, small, unsigned};
use crate::input::{LowStockInput, OrderStatusInput, Who};
use crate::target::{Done, Fault};

impl Postgres {
    pub(super) async fn last_order(&self, input: &OrderStatusInput) -> Result<Done, Fault> {
        let statements = &self.statements.look;
        let (home, district) = (number(input.warehouse), small(input.district));
        let look = async |customer: u32| {
            let customer = number(customer);
            tokio::join!(
                rows!(self, &statements.customer, home, district, customer),
                rows!(self, &statements.order, home, district, customer),
            )
        };
        let (customer, (account, order)) = match &input.who {
            Who::Number(customer) => {
                let (began, found) = tokio::join!(self.begin(), look(*customer));
                began?;
                (*customer, found)
            }
            Who::Last(last) => {
                let of = (input.warehouse, input.district);
                let (began, named) = tokio::join!(self.begin(), self.named(of, last));
                began?;
                let customer = named?;
                (customer, look(customer).await)
            }
        };
        let account = only(account?, "a customer")?;
        let order = order?.first().map(|row| unsigned(row, 0));
        let lines = async {
            match order {
                Some(order) => rows!(self, &statements.lines, home, district, number(order)).await,
                None => Ok(Vec::new()),
            }
        };
        let (lines, committed) = tokio::join!(lines, self.commit());
        let lines = lines?;
        committed?;
        Ok(Done::Status {
            customer,
            balance: account.get(0),
            order,
            lines: lines.len(),
        })
    }

    pub(super) async fn few(&self, input: &LowStockInput) -> Result<Done, Fault> {
        let (home, district) = (number(input.warehouse), small(input.district));
        let few = &self.statements.look.few;
        let (began, few, committed) = tokio::join!(
            self.begin(),
            rows!(self, few, home, district, input.threshold),
            self.commit(),
        );
        began?;
        let few = only(few?, "a count")?;
        committed?;
        Ok(Done::Low(few.get::<_, i64>(0) as usize))
    }
}
