//! A row of PostgreSQL that everybody adds to: what a counter costs where a lock of the row keeps others waiting.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use crate::cluster::postgres::connect;

/// The table with a row of 0.
///
/// # Errors
/// When the server refuses.
pub fn reset(at: SocketAddr) -> io::Result<()> {
    let statements =
        "CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, n bigint NOT NULL);
         INSERT INTO counters VALUES ('a', 0) ON CONFLICT (name) DO UPDATE SET n = 0";
    block_on(async { connect(at).await?.batch_execute(statements).await })
}

/// The number of the row.
///
/// # Errors
/// When the server refuses.
pub fn number(at: SocketAddr) -> io::Result<i64> {
    let query = "SELECT n FROM counters WHERE name = 'a'";
    let row = block_on(async { connect(at).await?.query_one(query, &[]).await });
    row.map(|row| row.get(0))
}

/// Adds to the row until a moment, each time read committed, with its lock, and the commit on the disk: how long each
/// took.
///
/// # Errors
/// When the server refuses.
pub fn work(at: SocketAddr, until: Instant) -> io::Result<Vec<Duration>> {
    let update = "UPDATE counters SET n = n + 1 WHERE name = 'a' RETURNING n";
    block_on(async {
        let client = connect(at).await?;
        let add = client.prepare(update).await?;
        let mut waits = Vec::new();
        while Instant::now() < until {
            let started = Instant::now();
            client.query_one(&add, &[]).await?;
            waits.push(started.elapsed());
        }
        Ok(waits)
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work).map_err(io::Error::other)
}
