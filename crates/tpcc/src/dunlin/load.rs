//! Loading by commits of many rows, several under way.

use bytes::Bytes;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use tokio::time::{Duration, sleep};

use super::rows::{pairs, value};
use super::{Dunlin, Txn, decoded};
use crate::key::{Key, Table};
use crate::load::{Loaded, Store};
use crate::rows::Row;
use crate::target::Fault;

/// Rows of a commit.
const ROWS: usize = 1_000;
/// Commits under way.
const DEPTH: usize = 4;
/// Times that one is tried while no server takes it, and the pause between.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(200);

impl Dunlin {
    /// Writes rows, whatever they were.
    async fn put_all(&self, rows: &[(Key, Bytes)]) -> Result<(), Fault> {
        let mut tries = 0;
        loop {
            let txn = Txn(self.direct.begin());
            for row in rows {
                txn.put(row.clone())?;
            }
            tries += 1;
            match txn.commit().await {
                // The same rows again are the same.
                Err(Fault::Refused(_) | Fault::Unavailable(_) | Fault::Unknown(_))
                    if tries < TRIES =>
                {
                    sleep(PAUSE).await;
                }
                ended => return ended,
            }
        }
    }
}

fn of_all() -> Key {
    Key::of(0, Table::Loaded)
}

impl Store for Dunlin {
    async fn prepare(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn loaded(&self) -> Result<Option<Loaded>, Fault> {
        let txn = Txn(self.direct.begin());
        let found = txn.get(&[of_all()]).await?.pop().flatten();
        txn.0.abort();
        let unreadable = || Fault::Failed("the row about the load cannot be read".to_owned());
        found
            .map(|value| decoded(&value).ok_or_else(unreadable))
            .transpose()
    }

    async fn set_loaded(&self, loaded: &Loaded) -> Result<(), Fault> {
        self.put_all(&[(of_all(), value(loaded))]).await
    }

    async fn write(&self, warehouse: u32, rows: Vec<Row>) -> Result<u64, Fault> {
        let all: Vec<(Key, Bytes)> = rows.iter().flat_map(|row| pairs(warehouse, row)).collect();
        let commits = iter(all.chunks(ROWS).map(|rows| self.put_all(rows)));
        let commits = commits.buffer_unordered(DEPTH);
        commits.try_for_each(async |()| Ok(())).await?;
        Ok(all.len() as u64)
    }

    async fn clear(&self, _: u32) -> Result<(), Fault> {
        Ok(())
    }
}
