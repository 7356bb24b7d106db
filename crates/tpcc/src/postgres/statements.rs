//! All statements of transactions, prepared.

use tokio_postgres::{Client, Statement};

use super::isolation::Isolation;
use crate::target::Fault;

/// By what they do.
pub struct Statements {
    pub begin: Statement,
    pub commit: Statement,
    pub rollback: Statement,
    pub order: OrderStatements,
    pub pay: PayStatements,
    pub deliver: DeliverStatements,
    pub look: LookStatements,
}

/// Of NewOrder.
pub struct OrderStatements {
    /// Takes the next number of a district.
    pub number: Statement,
    pub customer: Statement,
    pub items: Statement,
    pub stock: Statement,
    pub set_stock: Statement,
    pub insert: Statement,
    pub insert_new: Statement,
    pub insert_lines: Statement,
}

/// Of Payment.
pub struct PayStatements {
    pub warehouse: Statement,
    pub district: Statement,
    /// Customers by last name.
    pub names: Statement,
    pub customer: Statement,
    pub set_data: Statement,
    pub insert: Statement,
}

/// Of Delivery.
pub struct DeliverStatements {
    /// One delivery of a warehouse after the other.
    pub lock: Statement,
    pub oldest: Statement,
    pub delete: Statement,
    pub orders: Statement,
    pub lines: Statement,
    pub sums: Statement,
    pub customers: Statement,
}

/// Of OrderStatus and StockLevel.
pub struct LookStatements {
    pub customer: Statement,
    pub order: Statement,
    pub lines: Statement,
    pub few: Statement,
}

impl Statements {
    pub async fn prepare(client: &Client, isolation: Isolation) -> Result<Statements, Fault> {
        let prepare = async |sql: &str| client.prepare(sql).await;
        Ok(Statements {
            begin: prepare(isolation.begin()).await?,
            commit: prepare("COMMIT").await?,
            rollback: prepare("ROLLBACK").await?,
            order: OrderStatements::prepare(client).await?,
            pay: PayStatements::prepare(client).await?,
            deliver: DeliverStatements::prepare(client).await?,
            look: LookStatements::prepare(client).await?,
        })
    }
}

impl OrderStatements {
    async fn prepare(client: &Client) -> Result<OrderStatements, Fault> {
        let prepare = async |sql: &str| client.prepare(sql).await;
        Ok(OrderStatements {
            number: prepare(
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
                 RETURNING d_next_o_id - 1, d_tax",
            )
            .await?,
            customer: prepare(
                "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer
                 WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
            )
            .await?,
            items: prepare("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id = ANY($1)")
                .await?,
            stock: prepare(
                "SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist[$3], s_data
                 FROM stock WHERE (s_w_id, s_i_id) IN (SELECT * FROM unnest($1::int[], $2::int[]))
                 ORDER BY s_w_id, s_i_id FOR UPDATE",
            )
            .await?,
            set_stock: prepare(
                "UPDATE stock SET s_quantity = n.quantity, s_ytd = n.ytd, s_order_cnt = n.orders, s_remote_cnt = n.remote
                 FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[])
                      AS n (w, i, quantity, ytd, orders, remote)
                 WHERE s_w_id = n.w AND s_i_id = n.i",
            )
            .await?,
            insert: prepare(
                "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .await?,
            insert_new: prepare("INSERT INTO new_order VALUES ($1, $2, $3)").await?,
            insert_lines: prepare(
                "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                     ol_dist_info)
                 SELECT $1, $2, $3, * FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], $8::bigint[], $9::text[])",
            )
            .await?,
        })
    }
}

impl PayStatements {
    async fn prepare(client: &Client) -> Result<PayStatements, Fault> {
        let prepare = async |sql: &str| client.prepare(sql).await;
        Ok(PayStatements {
            warehouse: prepare(
                "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING w_name, w_street_1, w_city",
            )
            .await?,
            district: prepare(
                "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2
                 RETURNING d_name, d_street_1, d_city",
            )
            .await?,
            names: prepare(
                "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3
                 ORDER BY c_first COLLATE \"C\", c_id",
            )
            .await?,
            customer: prepare(
                "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4,
                     c_payment_cnt = c_payment_cnt + 1
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
                 RETURNING c_balance, c_credit, CASE WHEN c_credit = 'BC' THEN c_data END, c_first, c_last",
            )
            .await?,
            set_data: prepare(
                "UPDATE customer SET c_data = $4 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
            )
            .await?,
            insert: prepare("INSERT INTO history VALUES ($1, $2, $3, $4, $5, $6, $7, $8)").await?,
        })
    }
}

impl DeliverStatements {
    async fn prepare(client: &Client) -> Result<DeliverStatements, Fault> {
        let prepare = async |sql: &str| client.prepare(sql).await;
        Ok(DeliverStatements {
            lock: prepare("SELECT pg_advisory_xact_lock($1)").await?,
            oldest: prepare(
                "SELECT d, o FROM generate_series(1, 10) AS d, LATERAL (SELECT no_o_id AS o FROM new_order
                     WHERE no_w_id = $1 AND no_d_id = d ORDER BY no_o_id LIMIT 1) AS first",
            )
            .await?,
            delete: prepare(
                "DELETE FROM new_order WHERE no_w_id = $1
                 AND (no_d_id, no_o_id) IN (SELECT * FROM unnest($2::int[], $3::int[]))",
            )
            .await?,
            orders: prepare(
                "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1
                 AND (o_d_id, o_id) IN (SELECT * FROM unnest($2::int[], $3::int[])) RETURNING o_d_id, o_c_id",
            )
            .await?,
            lines: prepare(
                "UPDATE order_line SET ol_delivery_d = $4 WHERE ol_w_id = $1
                 AND (ol_d_id, ol_o_id) IN (SELECT * FROM unnest($2::int[], $3::int[]))",
            )
            .await?,
            sums: prepare(
                "SELECT ol_d_id, sum(ol_amount)::bigint FROM order_line WHERE ol_w_id = $1
                 AND (ol_d_id, ol_o_id) IN (SELECT * FROM unnest($2::int[], $3::int[])) GROUP BY ol_d_id",
            )
            .await?,
            customers: prepare(
                "UPDATE customer SET c_balance = c_balance + n.amount, c_delivery_cnt = c_delivery_cnt + 1
                 FROM unnest($2::int[], $3::int[], $4::bigint[]) AS n (d, c, amount)
                 WHERE c_w_id = $1 AND c_d_id = n.d AND c_id = n.c",
            )
            .await?,
        })
    }
}

impl LookStatements {
    async fn prepare(client: &Client) -> Result<LookStatements, Fault> {
        let prepare = async |sql: &str| client.prepare(sql).await;
        Ok(LookStatements {
            customer: prepare(
                "SELECT c_balance, c_first, c_middle, c_last FROM customer
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
            )
            .await?,
            order: prepare(
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3
                 ORDER BY o_id DESC LIMIT 1",
            )
            .await?,
            lines: prepare(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
                 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
            )
            .await?,
            few: prepare(
                "SELECT count(DISTINCT s_i_id) FROM district
                 JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id < d_next_o_id
                     AND ol_o_id >= d_next_o_id - 20
                 JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id AND s_quantity < $3
                 WHERE d_w_id = $1 AND d_id = $2",
            )
            .await?,
        })
    }
}
