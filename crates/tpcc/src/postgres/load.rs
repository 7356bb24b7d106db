//! Loading by COPY.

use std::collections::BTreeMap;
use std::fmt::Write;

use bytes::Bytes;
use futures_util::SinkExt;

use super::schema::{SCHEMA, clear};
use super::{Admin, number, unsigned};
use crate::load::{Loaded, Store};
use crate::rows::{Address, Customer, Row, Site};
use crate::scale::Scale;
use crate::target::Fault;

impl Store for Admin {
    async fn prepare(&self) -> Result<(), Fault> {
        Ok(self.client.batch_execute(SCHEMA).await?)
    }

    async fn loaded(&self) -> Result<Option<Loaded>, Fault> {
        let query = "SELECT items, customers, seed, date_ms, warehouses FROM loaded";
        let found = self.client.query_opt(query, &[]).await?;
        Ok(found.map(|row| Loaded {
            scale: Scale {
                items: unsigned(&row, 0),
                customers: unsigned(&row, 1),
            },
            seed: row.get::<_, i64>(2) as u64,
            date_ms: row.get(3),
            warehouses: unsigned(&row, 4),
        }))
    }

    async fn set_loaded(&self, loaded: &Loaded) -> Result<(), Fault> {
        let Loaded { scale, seed, .. } = *loaded;
        let insert = "INSERT INTO loaded VALUES (1, $1, $2, $3, $4, $5)
            ON CONFLICT (one) DO UPDATE SET warehouses = $5";
        let warehouses = number(loaded.warehouses);
        let (items, customers) = (number(scale.items), number(scale.customers));
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] = [
            &items,
            &customers,
            &(seed as i64),
            &loaded.date_ms,
            &warehouses,
        ];
        self.client.execute(insert, &values).await?;
        Ok(())
    }

    async fn write(&self, warehouse: u32, rows: Vec<Row>) -> Result<u64, Fault> {
        let mut lines: BTreeMap<&str, String> = BTreeMap::new();
        let mut count = 0;
        for row in &rows {
            let Some((table, line)) = line(warehouse, row) else {
                continue;
            };
            let lines = lines.entry(table).or_default();
            lines.push_str(&line);
            lines.push('\n');
            count += 1;
        }
        for (table, lines) in lines {
            let copy = format!("COPY {table} FROM STDIN");
            let sink = self.client.copy_in(&copy).await?;
            let mut sink = std::pin::pin!(sink);
            sink.send(Bytes::from(lines)).await?;
            sink.close().await?;
        }
        Ok(count)
    }

    async fn clear(&self, warehouse: u32) -> Result<(), Fault> {
        Ok(self.client.batch_execute(&clear(warehouse)).await?)
    }
}

/// A line of COPY: texts are letters and digits, so none is escaped.
fn line(warehouse: u32, row: &Row) -> Option<(&'static str, String)> {
    let w = warehouse;
    Some(match row {
        Row::Names(..) => return None,
        // One copy for all warehouses.
        Row::Item(..) if warehouse > 1 => return None,
        Row::Item(id, i) => {
            let line = format!("{id}\t{}\t{}\t{}\t{}", i.image, i.name, i.price, i.data);
            ("item", line)
        }
        Row::Warehouse(row) => (
            "warehouse",
            format!("{w}\t{}\t{}", site(&row.site), row.ytd),
        ),
        Row::Stock(id, s) => {
            let dists = s.info.districts.join(",");
            let q = &s.quantity;
            let counts = format!("{}\t{}\t{}\t{}", q.quantity, q.ytd, q.orders, q.remote);
            let line = format!("{w}\t{id}\t{counts}\t{{{dists}}}\t{}", s.info.data);
            ("stock", line)
        }
        Row::District(d, row) => {
            let line = format!(
                "{w}\t{d}\t{}\t{}\t{}",
                site(&row.site),
                row.ytd,
                row.next_order
            );
            ("district", line)
        }
        Row::Customer(d, id, row) => ("customer", customer((w, *d, *id), row)),
        Row::Payment(d, _, p) => {
            let c = p.customer;
            let of = format!("{}\t{}\t{}", c.warehouse, c.district, c.number);
            let line = format!("{of}\t{w}\t{d}\t{}\t{}\t{}", p.date_ms, p.amount, p.data);
            ("history", line)
        }
        Row::Order(d, id, o) => {
            let carrier = o
                .carrier
                .map_or("\\N".to_owned(), |carrier| carrier.to_string());
            let head = format!("{w}\t{d}\t{id}\t{}\t{}", o.customer, o.entry_ms);
            let line = format!("{head}\t{carrier}\t{}\t{}", o.lines, o.is_local);
            ("orders", line)
        }
        Row::Line(d, order, id, l) => {
            let date = l
                .delivery_ms
                .map_or("\\N".to_owned(), |date| date.to_string());
            let head = format!("{w}\t{d}\t{order}\t{id}\t{}\t{}", l.item, l.supplier);
            let line = format!("{head}\t{date}\t{}\t{}\t{}", l.quantity, l.amount, l.info);
            ("order_line", line)
        }
        Row::NewOrder(d, id) => ("new_order", format!("{w}\t{d}\t{id}")),
    })
}

fn address(a: &Address) -> String {
    [&*a.street_1, &a.street_2, &a.city, &a.state, &a.zip].join("\t")
}

fn site(site: &Site) -> String {
    format!("{}\t{}\t{}", site.name, address(&site.address), site.tax)
}

fn customer((w, d, id): (u32, u8, u32), row: &Customer) -> String {
    let (i, a) = (&row.info, &row.account);
    let credit = if i.is_good { "GC" } else { "BC" };
    let mut line = format!("{w}\t{d}\t{id}\t{}\t{}\t{}\t", i.first, i.middle, i.last);
    line.push_str(&address(&i.address));
    // Writing to a text does not fail.
    let _ = write!(
        line,
        "\t{}\t{}\t{credit}\t{}\t{}",
        i.phone, i.since_ms, i.credit_limit, i.discount
    );
    let _ = write!(
        line,
        "\t{}\t{}\t{}\t{}",
        a.balance, a.ytd_payment, a.payments, a.deliveries
    );
    let _ = write!(line, "\t{}", row.data);
    line
}
