//! Payment: two rounds, three where the customer is named.

use super::{Postgres, number, only, small, unsigned};
use crate::input::{PaymentInput, Who};
use crate::target::{Done, Fault, middle, noted};

impl Postgres {
    pub(super) async fn enter_payment(&self, input: &PaymentInput) -> Result<Done, Fault> {
        let statements = &self.statements.pay;
        let (home, district) = (number(input.warehouse), small(input.district));
        let warehouse = rows!(self, &statements.warehouse, home, input.amount);
        let district = rows!(self, &statements.district, home, district, input.amount);
        let (warehouse, district, customer, row) = match &input.who {
            Who::Number(customer) => {
                let (began, warehouse, district, row) = tokio::join!(
                    self.begin(),
                    warehouse,
                    district,
                    self.paid(input, *customer)
                );
                began?;
                (warehouse?, district?, *customer, row?)
            }
            Who::Last(last) => {
                let (began, warehouse, district, named) = tokio::join!(
                    self.begin(),
                    warehouse,
                    district,
                    self.named(input.of, last)
                );
                began?;
                let (warehouse, district, customer) = (warehouse?, district?, named?);
                (
                    warehouse,
                    district,
                    customer,
                    self.paid(input, customer).await?,
                )
            }
        };
        let (warehouse, district) = (
            only(warehouse, "a warehouse")?,
            only(district, "a district")?,
        );
        let names: [&str; 2] = [warehouse.get(0), district.get(0)];
        let data: Option<&str> = row.get(2);
        let set = async {
            let Some(data) = data else {
                return Ok(());
            };
            let (of, at) = (number(input.of.0), small(input.of.1));
            let noted = noted(data, input, customer);
            let set = rows!(self, &statements.set_data, of, at, number(customer), noted);
            set.await.map(drop)
        };
        let insert = async {
            let (of, at, customer) = (number(input.of.0), small(input.of.1), number(customer));
            let (home, district) = (number(input.warehouse), small(input.district));
            let (date, amount, names) = (input.date_ms, input.amount, names.join("    "));
            let insert = rows!(
                self,
                &statements.insert,
                of,
                at,
                customer,
                home,
                district,
                date,
                amount,
                names,
            );
            insert.await
        };
        let (set, inserted, committed) = tokio::join!(set, insert, self.commit());
        set.and(inserted)?;
        committed?;
        Ok(Done::Paid {
            customer,
            balance: row.get(0),
        })
    }

    async fn paid(
        &self,
        input: &PaymentInput,
        customer: u32,
    ) -> Result<tokio_postgres::Row, Fault> {
        let (of, at, customer) = (number(input.of.0), small(input.of.1), number(customer));
        let statement = &self.statements.pay.customer;
        let update = rows!(self, statement, of, at, customer, input.amount);
        only(update.await?, "a customer")
    }

    /// The number of a customer by last name.
    pub(super) async fn named(&self, (of, at): (u32, u8), last: &str) -> Result<u32, Fault> {
        let statement = &self.statements.pay.names;
        let rows = self
            .client
            .query(statement, &[&number(of), &small(at), &last])
            .await?;
        let numbers: Vec<u32> = rows.iter().map(|row| unsigned(row, 0)).collect();
        middle(&numbers).ok_or_else(|| Fault::Failed(format!("no customer {last}")))
    }
}
