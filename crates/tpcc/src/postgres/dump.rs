//! All rows, read by one transaction that sees one moment.

use tokio_postgres::Row;

use super::{Admin, small_of, unsigned};
use crate::rows::{Account, CustomerId, Line, Order, Payment, Quantity};
use crate::tables::{DistrictState, Dump, Tables};
use crate::target::Fault;

impl Dump for Admin {
    async fn dump(&self, warehouses: u32) -> Result<Tables, Fault> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.client.batch_execute(begin).await?;
        let mut tables = Tables::default();
        for warehouse in 1..=warehouses {
            self.heads(warehouse, &mut tables).await?;
            self.customers(warehouse, &mut tables).await?;
            self.orders(warehouse, &mut tables).await?;
        }
        self.client.batch_execute("COMMIT").await?;
        tables.payments.sort();
        Ok(tables)
    }
}

impl Admin {
    async fn of(&self, query: &str, warehouse: u32) -> Result<Vec<Row>, Fault> {
        Ok(self.client.query(query, &[&(warehouse as i32)]).await?)
    }

    async fn heads(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let query = "SELECT w_ytd FROM warehouse WHERE w_id = $1";
        for row in self.of(query, warehouse).await? {
            tables.warehouses.insert(warehouse, row.get(0));
        }
        let query = "SELECT d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let state = DistrictState {
                ytd: row.get(1),
                next_order: unsigned(&row, 2),
            };
            tables
                .districts
                .insert((warehouse, small_of(&row, 0)), state);
        }
        let query = "SELECT s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let quantity = Quantity {
                quantity: row.get(1),
                ytd: unsigned(&row, 2),
                orders: unsigned(&row, 3),
                remote: unsigned(&row, 4),
            };
            tables
                .quantities
                .insert((warehouse, unsigned(&row, 0)), quantity);
        }
        Ok(())
    }

    async fn customers(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let query = "SELECT c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data FROM customer
            WHERE c_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let id = CustomerId {
                warehouse,
                district: small_of(&row, 0),
                number: unsigned(&row, 1),
            };
            let account = Account {
                balance: row.get(2),
                ytd_payment: row.get(3),
                payments: unsigned(&row, 4),
                deliveries: unsigned(&row, 5),
            };
            tables.accounts.insert(id, account);
            tables.data.insert(id, row.get(6));
        }
        let query = "SELECT h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_date, h_amount, h_data FROM history WHERE h_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let payment = Payment {
                customer: CustomerId {
                    warehouse: unsigned(&row, 1),
                    district: small_of(&row, 2),
                    number: unsigned(&row, 3),
                },
                date_ms: row.get(4),
                amount: row.get(5),
                data: row.get(6),
            };
            tables
                .payments
                .push(((warehouse, small_of(&row, 0)), payment));
        }
        Ok(())
    }

    async fn orders(&self, warehouse: u32, tables: &mut Tables) -> Result<(), Fault> {
        let query = "SELECT o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local FROM orders
            WHERE o_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let order = Order {
                customer: unsigned(&row, 2),
                entry_ms: row.get(3),
                carrier: row.get::<_, Option<i32>>(4).map(|carrier| carrier as u8),
                lines: small_of(&row, 5),
                is_local: row.get(6),
            };
            let id = (warehouse, small_of(&row, 0), unsigned(&row, 1));
            tables.orders.insert(id, order);
        }
        let query = "SELECT no_d_id, no_o_id FROM new_order WHERE no_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let id = (warehouse, small_of(&row, 0), unsigned(&row, 1));
            tables.new_orders.insert(id);
        }
        let query = "SELECT ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount,
            ol_dist_info FROM order_line WHERE ol_w_id = $1";
        for row in self.of(query, warehouse).await? {
            let line = Line {
                item: unsigned(&row, 3),
                supplier: unsigned(&row, 4),
                delivery_ms: row.get(5),
                quantity: small_of(&row, 6),
                amount: row.get(7),
                info: row.get(8),
            };
            let order = (warehouse, small_of(&row, 0), unsigned(&row, 1));
            tables.lines.insert((order, small_of(&row, 2)), line);
        }
        Ok(())
    }
}
