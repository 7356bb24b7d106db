//! Transactions of one read and one write, one after the other.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use dunlin_client::{Client as Store, Direct};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::case::{KEYS, Rung, VALUE_BYTES, key};
use crate::cluster::client::Client as Http;
use crate::cluster::postgres::connect;
use crate::ranges::remote::KEYSPACE;

/// So many values are stored at once before.
const BATCH: usize = 100;

/// Does one transaction after the other.
pub struct Runner {
    way: Way,
    turn: usize,
    value: String,
}

enum Way {
    Http(Http, Rung),
    Direct(Runtime, LocalSet, Direct, Rung),
    Postgres(Runtime, Box<Sql>, Rung),
}

type Parameters<'a, const COUNT: usize> = [&'a (dyn ToSql + Sync); COUNT];

/// A connection with its statements.
pub struct Sql {
    client: tokio_postgres::Client,
    begin: Statement,
    select: Statement,
    update: Statement,
    commit: Statement,
}

/// Stores a value for each key of a keyspace.
///
/// # Errors
/// When the node refuses.
pub fn fill(at: SocketAddr, keyspace: &str) -> io::Result<()> {
    let mut http = Http::new(at)?;
    let value = "v".repeat(VALUE_BYTES);
    let numbers: Vec<usize> = (0..KEYS).collect();
    for batch in numbers.chunks(BATCH) {
        let write =
            |number: &usize| json!({"keyspace": keyspace, "key": key(*number), "value": value});
        let writes: Vec<Value> = batch.iter().map(write).collect();
        let body = json!({ "writes": writes }).to_string();
        expect(http.request("POST", "/v1/txn", body.as_bytes())?, 200)?;
    }
    Ok(())
}

/// The same in a table of PostgreSQL.
///
/// # Errors
/// When the server refuses.
pub fn fill_table(at: SocketAddr) -> io::Result<()> {
    let make = format!(
        "CREATE TABLE IF NOT EXISTS pairs (key text PRIMARY KEY, value text NOT NULL);
         INSERT INTO pairs SELECT 'k' || lpad(n::text, 4, '0'), repeat('v', {VALUE_BYTES})
         FROM generate_series(0, {}) AS n ON CONFLICT DO NOTHING",
        KEYS - 1
    );
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let filled = runtime.block_on(async { connect(at).await?.batch_execute(&make).await });
    filled.map_err(io::Error::other)
}

fn expect((status, body): (u16, &[u8]), wanted: u16) -> io::Result<Value> {
    if status != wanted {
        let body = String::from_utf8_lossy(body);
        return Err(io::Error::other(format!("{status} {body}")));
    }
    Ok(serde_json::from_slice(body).unwrap_or(Value::Null))
}

impl Runner {
    /// One that is connected.
    ///
    /// # Errors
    /// When the server is not there.
    pub fn new(rung: Rung, at: SocketAddr) -> io::Result<Runner> {
        let runtime = || Builder::new_current_thread().enable_all().build();
        let way = match rung {
            Rung::One | Rung::Four | Rung::Call => Way::Http(Http::new(at)?, rung),
            Rung::DirectRead | Rung::Direct => {
                let store = Store::new(&format!("http://{at}")).map_err(io::Error::other)?;
                Way::Direct(runtime()?, LocalSet::new(), store.direct(), rung)
            }
            Rung::PostgresTwo | Rung::PostgresFour => {
                let runtime = runtime()?;
                let sql = runtime.block_on(Sql::new(at)).map_err(io::Error::other)?;
                Way::Postgres(runtime, Box::new(sql), rung)
            }
        };
        Ok(Runner {
            way,
            turn: 0,
            value: "w".repeat(VALUE_BYTES),
        })
    }

    /// Does one.
    ///
    /// # Errors
    /// When it fails: nobody else is there to be in the way.
    pub fn run(&mut self) -> io::Result<()> {
        // Far from the one before.
        self.turn = (self.turn + 617) % KEYS;
        let (key, value) = (key(self.turn), &self.value);
        match &mut self.way {
            Way::Http(http, Rung::One) => one(http, &key, value),
            Way::Http(http, _) => four(http, &key, value),
            Way::Direct(runtime, tasks, direct, rung) => {
                let txn = direct.begin();
                let reads_only = *rung == Rung::DirectRead;
                let done = tasks.block_on(runtime, async {
                    let found = txn.get(KEYSPACE, key.as_bytes()).await?;
                    if !reads_only {
                        let value = Bytes::copy_from_slice(value.as_bytes());
                        txn.put(KEYSPACE, key.as_bytes(), value)?;
                    }
                    txn.commit().await?;
                    Ok::<_, dunlin_client::ClientError>(found)
                });
                match done.map_err(io::Error::other)? {
                    Some(found) if found.len() == VALUE_BYTES => Ok(()),
                    _ => Err(io::Error::other("another value than was stored")),
                }
            }
            Way::Postgres(runtime, sql, rung) => {
                let keys = [key];
                match rung {
                    Rung::PostgresTwo => {
                        let is_done = runtime.block_on(sql.attempt(&keys[0], &keys, value))?;
                        let in_the_way = || io::Error::other("others were in its way");
                        is_done.then_some(()).ok_or_else(in_the_way)
                    }
                    _ => runtime
                        .block_on(sql.four(&keys[0], value))
                        .map_err(io::Error::other),
                }
            }
        }
    }
}

fn one(http: &mut Http, key: &str, value: &str) -> io::Result<()> {
    let body = format!(
        r#"{{"reads":[{{"keyspace":"{KEYSPACE}","key":"{key}"}}],"writes":[{{"keyspace":"{KEYSPACE}","key":"{key}","value":"{value}"}}]}}"#
    );
    expect(http.request("POST", "/v1/txn", body.as_bytes())?, 200).map(drop)
}

fn four(http: &mut Http, key: &str, value: &str) -> io::Result<()> {
    let began = expect(http.request("POST", "/v1/txn/begin", b"")?, 201)?;
    let id = began["id"].as_str().unwrap_or_default();
    let path = format!("/v1/txn/{id}/keyspaces/{KEYSPACE}/keys/{key}");
    expect(http.request("GET", &path, b"")?, 200)?;
    expect(http.request("PUT", &path, value.as_bytes())?, 202)?;
    let path = format!("/v1/txn/{id}/commit?first={KEYSPACE}/{key}");
    expect(http.request("POST", &path, b"")?, 200).map(drop)
}

impl Sql {
    /// One that is connected.
    ///
    /// # Errors
    /// When the server is not there.
    pub async fn new(at: SocketAddr) -> Result<Sql, tokio_postgres::Error> {
        let client = connect(at).await?;
        Ok(Sql {
            begin: client.prepare("BEGIN ISOLATION LEVEL SERIALIZABLE").await?,
            select: client
                .prepare("SELECT value FROM pairs WHERE key = $1")
                .await?,
            update: client
                .prepare("UPDATE pairs SET value = $2 WHERE key = $1")
                .await?,
            commit: client.prepare("COMMIT").await?,
            client,
        })
    }

    /// An attempt in two rounds, for statements that are sent together take one; false where others were in its way.
    ///
    /// # Errors
    /// When it fails for another reason.
    pub async fn attempt(&self, read: &str, writes: &[String], value: &str) -> io::Result<bool> {
        let select: Parameters<'_, 1> = [&read];
        let (began, found) = tokio::join!(
            self.client.execute(&self.begin, &[]),
            self.client.query_one(&self.select, &select),
        );
        let done = match began.and(found) {
            Ok(_) => {
                let write = |key: String| async move {
                    let update: Parameters<'_, 2> = [&key, &value];
                    self.client.execute(&self.update, &update).await
                };
                let writes = join_all(writes.iter().cloned().map(write));
                // Where an update has failed, this ends the transaction without effect.
                let commit = self.client.execute(&self.commit, &[]);
                let (updated, committed) = tokio::join!(writes, commit);
                updated
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
                    .and(committed)
            }
            Err(error) => {
                let ended = self.client.batch_execute("ROLLBACK").await;
                ended.and(Err(error))
            }
        };
        let refusals = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        match done {
            Ok(_) => Ok(true),
            Err(error) if error.code().is_some_and(|code| refusals.contains(code)) => Ok(false),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    async fn four(&self, key: &str, value: &str) -> Result<(), tokio_postgres::Error> {
        self.client.execute(&self.begin, &[]).await?;
        let found = self.client.query_one(&self.select, &[&key]).await?;
        let _value: String = found.get(0);
        self.client.execute(&self.update, &[&key, &value]).await?;
        self.client.execute(&self.commit, &[]).await.map(drop)
    }
}
