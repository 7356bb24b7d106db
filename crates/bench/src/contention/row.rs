//! A row of PostgreSQL that everybody adds to: what a counter costs where a lock of the row keeps others waiting.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Statement};

use crate::cluster::postgres::connect;

/// A client with its connection.
pub struct Rows {
    runtime: Runtime,
    client: Client,
    add: Statement,
}

impl Rows {
    /// One to a server whose table is there.
    ///
    /// # Errors
    /// When it does not take the connection.
    pub fn new(at: SocketAddr) -> io::Result<Rows> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (client, add) = runtime
            .block_on(async {
                let client = connect(at).await?;
                let update = "UPDATE counters SET n = n + 1 WHERE name = 'a' RETURNING n";
                let add = client.prepare(update).await?;
                Ok((client, add))
            })
            .map_err(failed)?;
        Ok(Rows {
            runtime,
            client,
            add,
        })
    }

    /// Adds one to the row: read committed, its lock, and the commit on the disk.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn add(&self) -> io::Result<()> {
        let added = self.runtime.block_on(self.client.query_one(&self.add, &[]));
        added.map(drop).map_err(failed)
    }
}

/// The table with a row of 0.
///
/// # Errors
/// When the server refuses.
pub fn reset(at: SocketAddr) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let statements =
        "CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, n bigint NOT NULL);
         INSERT INTO counters VALUES ('a', 0) ON CONFLICT (name) DO UPDATE SET n = 0";
    let reset = runtime.block_on(async { connect(at).await?.batch_execute(statements).await });
    reset.map_err(failed)
}

/// The number of the row.
///
/// # Errors
/// When the server refuses.
pub fn number(at: SocketAddr) -> io::Result<i64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let query = "SELECT n FROM counters WHERE name = 'a'";
    let number = runtime.block_on(async { connect(at).await?.query_one(query, &[]).await });
    number.map(|row| row.get(0)).map_err(failed)
}

fn failed(error: tokio_postgres::Error) -> io::Error {
    io::Error::other(error)
}

/// Adds to the row until a moment: how long each took.
///
/// # Errors
/// As [`Rows::add`].
pub fn work(at: SocketAddr, until: Instant) -> io::Result<Vec<std::time::Duration>> {
    let rows = Rows::new(at)?;
    let mut waits = Vec::new();
    while Instant::now() < until {
        let started = Instant::now();
        rows.add()?;
        waits.push(started.elapsed());
    }
    Ok(waits)
}
