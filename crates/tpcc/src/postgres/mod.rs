//! PostgreSQL: the nine tables as specified, without foreign keys, by statements of several rows that are sent together where
//! none needs the result of another.
//!
//! - `isolation`: how transactions are kept apart; `schema`: tables; `load`: loading; `dump`: all rows
//! - `statements`: prepared statements; `order`, `pay`, `deliver`, `look`: the transactions

use std::net::SocketAddr;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, Row, Statement};

use crate::input::{DeliveryInput, LowStockInput, NewOrderInput, OrderStatusInput, PaymentInput};
use crate::target::{Done, Fault, Target};

/// A statement with its values, as a future that has them: several are sent together.
macro_rules! rows {
    ($self:ident, $statement:expr, $($value:expr),+ $(,)?) => {
        async { $self.client.query($statement, &[$(&$value),+]).await }
    };
}

mod deliver;
mod dump;
mod isolation;
mod load;
mod look;
mod order;
mod pay;
mod schema;
mod statements;

pub use isolation::Isolation;
use statements::Statements;

const CONNECTS: Duration = Duration::from_secs(10);

/// Where a server is, and the user and database there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Host and port.
    pub at: SocketAddr,
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
}

/// A terminal's connection.
pub struct Postgres {
    client: Client,
    statements: Statements,
    isolation: Isolation,
}

/// A connection to load and to read with.
pub struct Admin {
    client: Client,
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        let refusals = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        let text = match error.as_db_error() {
            Some(db) => format!("{}: {}", db.code().code(), db.message()),
            None => error.to_string(),
        };
        match error.code() {
            Some(code) if refusals.contains(code) => Fault::Refused(text),
            _ => Fault::Failed(text),
        }
    }
}

async fn connect(address: &ServerAddress) -> Result<Client, Fault> {
    let mut config = tokio_postgres::Config::new();
    config
        .host(address.at.ip().to_string())
        .port(address.at.port())
        .user(&address.user)
        .dbname(&address.database)
        .connect_timeout(CONNECTS);
    let connected = config.connect(NoTls).await;
    let (client, connection) = connected.map_err(|error| {
        let at = address.at;
        let why = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
        Fault::Failed(format!("PostgreSQL at {at} cannot be reached: {why}"))
    })?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// The only row, or none where there is another number of them.
fn only(rows: Vec<Row>, what: &str) -> Result<Row, Fault> {
    let mut rows = rows.into_iter();
    match (rows.next(), rows.next()) {
        (Some(row), None) => Ok(row),
        _ => Err(Fault::Failed(format!(
            "no row of {what}, or several: load the warehouse"
        ))),
    }
}

fn number(of: u32) -> i32 {
    of as i32
}

fn small(of: u8) -> i32 {
    i32::from(of)
}

/// A number that was stored as `number` does.
fn unsigned(row: &Row, column: usize) -> u32 {
    row.get::<_, i32>(column) as u32
}

fn small_of(row: &Row, column: usize) -> u8 {
    row.get::<_, i32>(column) as u8
}

impl Admin {
    /// Connects.
    ///
    /// # Errors
    /// When the server does not take it.
    pub async fn new(address: &ServerAddress) -> Result<Admin, Fault> {
        let client = connect(address).await?;
        Ok(Admin { client })
    }

    /// Has the planner know how many rows there are.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn analyze(&self) -> Result<(), Fault> {
        Ok(self.client.batch_execute("VACUUM ANALYZE").await?)
    }
}

impl Postgres {
    /// Connects, and prepares all statements.
    ///
    /// # Errors
    /// When the server does not take it, or the tables are not there.
    pub async fn new(address: &ServerAddress, isolation: Isolation) -> Result<Postgres, Fault> {
        let client = connect(address).await?;
        let statements = Statements::prepare(&client, isolation).await?;
        Ok(Postgres {
            client,
            statements,
            isolation,
        })
    }

    async fn begin(&self) -> Result<(), Fault> {
        self.run(&self.statements.begin).await
    }

    async fn commit(&self) -> Result<(), Fault> {
        self.run(&self.statements.commit).await
    }

    async fn run(&self, statement: &Statement) -> Result<(), Fault> {
        self.client.execute(statement, &[]).await?;
        Ok(())
    }

    /// Ends a transaction that failed.
    async fn ended(&self, done: Result<Done, Fault>) -> Result<Done, Fault> {
        if done.is_err() {
            self.run(&self.statements.rollback).await?;
        }
        done
    }
}

impl Target for Postgres {
    async fn new_order(&self, input: &NewOrderInput) -> Result<Done, Fault> {
        self.ended(self.enter_order(input).await).await
    }

    async fn payment(&self, input: &PaymentInput) -> Result<Done, Fault> {
        self.ended(self.enter_payment(input).await).await
    }

    async fn order_status(&self, input: &OrderStatusInput) -> Result<Done, Fault> {
        self.ended(self.last_order(input).await).await
    }

    async fn delivery(&self, input: &DeliveryInput) -> Result<Done, Fault> {
        self.ended(self.deliver(input).await).await
    }

    async fn low_stock(&self, input: &LowStockInput) -> Result<Done, Fault> {
        self.ended(self.few(input).await).await
    }
}
