//! Cases of several transactions at a time.

use serde::Serialize;

use super::case::{KEYS, key};

/// Keys of keyspaces with two ranges from this number on are in the second.
pub const SECOND_RANGE: usize = KEYS / 2;

/// Whose keys a transaction reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// It reads a key and writes it, each as likely as the others.
    Own,
    /// It reads a key and writes another.
    Another,
    /// It reads a key and writes it, and one of another range.
    TwoRanges,
    /// It reads a key and writes it: those of low number more often, by a zipf distribution with this exponent.
    Zipf(f64),
}

/// Who carries them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlightServer {
    /// Direct clients.
    Dunlin,
    /// PostgreSQL, serializable, two rounds a transaction.
    Postgres,
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flight {
    /// Who carries them out.
    pub store: FlightServer,
    /// Whose keys.
    pub mix: Mix,
    /// Clients, each with a connection; of PostgreSQL each transaction that is under way has one.
    pub clients: usize,
    /// Transactions under way at each.
    pub depth: usize,
}

impl Mix {
    /// For people.
    pub fn name(self) -> String {
        match self {
            Mix::Own => "1 read + 1 write of the same key".to_owned(),
            Mix::Another => "1 read + 1 write of another key".to_owned(),
            Mix::TwoRanges => "1 read + 2 writes over two ranges".to_owned(),
            Mix::Zipf(exponent) => format!("1 read + 1 write, zipf {exponent:.1}"),
        }
    }

    /// The key to read, and those to write, of numbers that were drawn.
    pub fn keys(self, first: usize, second: usize) -> (String, Vec<String>) {
        match self {
            Mix::Own | Mix::Zipf(_) => (key(first), vec![key(first)]),
            Mix::Another => (key(first), vec![key(another(first, second))]),
            Mix::TwoRanges => {
                let (low, high) = (first % SECOND_RANGE, SECOND_RANGE + second % SECOND_RANGE);
                (key(low), vec![key(low), key(high)])
            }
        }
    }
}

fn another(first: usize, second: usize) -> usize {
    if first == second {
        (second + 1) % KEYS
    } else {
        second
    }
}

impl FlightServer {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            FlightServer::Dunlin => "direct",
            FlightServer::Postgres => "PostgreSQL",
        }
    }
}

/// All cases.
pub fn flights() -> Vec<Flight> {
    let cases = [
        (Mix::Another, 1, 1),
        (Mix::TwoRanges, 1, 1),
        (Mix::Own, 2, 2),
        (Mix::Own, 1, 16),
        (Mix::TwoRanges, 1, 16),
        (Mix::Zipf(0.6), 1, 16),
        (Mix::Zipf(0.9), 1, 16),
        (Mix::Zipf(1.2), 1, 16),
    ];
    let of_both = cases.into_iter().flat_map(|(mix, clients, depth)| {
        [FlightServer::Dunlin, FlightServer::Postgres].map(|store| Flight {
            store,
            mix,
            clients,
            depth,
        })
    });
    of_both.collect()
}
