//! Transactions of several clients at a time, all on one thread.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_client::{Client, ClientError, Direct};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rand_distr::Zipf;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use super::case::{KEYS, PAIRS, VALUE_BYTES};
use super::client::Sql;
use super::figures::{StepFigures, figures};
use super::flight::{Flight, FlightServer, Mix};
use crate::cluster::Cluster;
use crate::host::cpu::Meter;
use crate::host::pinned::pin;
use crate::host::tree;
use crate::ranges::remote::KEYSPACE;
use crate::rpc::tally::Times;

/// What all tasks share.
struct Shared {
    began: Cell<Option<Instant>>,
    took: RefCell<Vec<Duration>>,
    refused: Cell<u64>,
    is_over: Cell<bool>,
}

/// Draws numbers of keys.
struct Draw {
    random: StdRng,
    zipf: Option<Zipf<f64>>,
}

impl Draw {
    fn new(mix: Mix, seed: u64) -> io::Result<Draw> {
        let zipf = match mix {
            Mix::Zipf(exponent) => {
                Some(Zipf::new(KEYS as f64, exponent).map_err(io::Error::other)?)
            }
            _ => None,
        };
        Ok(Draw {
            random: StdRng::seed_from_u64(seed),
            zipf,
        })
    }

    fn number(&mut self) -> usize {
        match self.zipf {
            // From 1.
            Some(zipf) => self.random.sample(zipf) as usize - 1,
            None => self.random.random_range(0..KEYS),
        }
    }
}

/// One case for a while, its clients on a processor of their own.
///
/// # Errors
/// When a transaction fails for another reason than others in its way.
pub fn measured(cluster: &Cluster, flight: Flight, times: Times) -> io::Result<StepFigures> {
    let run = || {
        pin(0)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, fly(cluster, flight, times))
    };
    thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|_| Err(io::Error::other("a client ended early")))
}

async fn fly(cluster: &Cluster, flight: Flight, times: Times) -> io::Result<StepFigures> {
    let shared = Rc::new(Shared {
        began: Cell::new(None),
        took: RefCell::default(),
        refused: Cell::new(0),
        is_over: Cell::new(false),
    });
    let at = cluster.addresses[0];
    let mut tasks = Vec::new();
    for client in 0..flight.clients {
        let direct = direct(at)?;
        for number in 0..flight.depth {
            let draw = Draw::new(flight.mix, (client * flight.depth + number) as u64)?;
            let way = match flight.store {
                FlightServer::Dunlin => Way::Direct(direct.clone(), keyspace_of(flight.mix)),
                FlightServer::Postgres => {
                    let sql = Sql::new(at).await.map_err(io::Error::other)?;
                    Way::Postgres(Box::new(sql))
                }
            };
            tasks.push(spawn_local(go(way, flight.mix, draw, shared.clone())));
        }
    }
    tokio::time::sleep(times.warm).await;
    let pids = cluster.pids().into_iter().flat_map(tree::of);
    let meter = Meter::new(pids.collect());
    let (cpu, began) = (meter.total(), Instant::now());
    shared.began.set(Some(began));
    tokio::time::sleep(times.window).await;
    let (all, cpu) = (began.elapsed(), meter.total().saturating_sub(cpu));
    let took = shared.took.take();
    let refused = shared.refused.get() as f64 / (took.len() as f64).max(1.0);
    shared.is_over.set(true);
    for task in tasks {
        task.await.map_err(io::Error::other)??;
    }
    Ok(StepFigures {
        refused,
        ..figures(took, all, cpu)
    })
}

fn direct(at: SocketAddr) -> io::Result<Direct> {
    let client = Client::new(&format!("http://{at}")).map_err(io::Error::other)?;
    Ok(client.direct())
}

fn keyspace_of(mix: Mix) -> &'static str {
    match mix {
        Mix::TwoRanges => PAIRS,
        _ => KEYSPACE,
    }
}

enum Way {
    Direct(Direct, &'static str),
    Postgres(Box<Sql>),
}

/// One transaction after the other.
async fn go(way: Way, mix: Mix, mut draw: Draw, shared: Rc<Shared>) -> io::Result<()> {
    let value = "w".repeat(VALUE_BYTES);
    while !shared.is_over.get() {
        let (read, writes) = mix.keys(draw.number(), draw.number());
        let one = Instant::now();
        while !way.attempt(&read, &writes, &value).await? {
            if shared.began.get().is_some() {
                shared.refused.set(shared.refused.get() + 1);
            }
            if shared.is_over.get() {
                return Ok(());
            }
        }
        if shared.began.get().is_some() {
            shared.took.borrow_mut().push(one.elapsed());
        }
    }
    Ok(())
}

impl Way {
    /// One attempt; false where others were in its way.
    async fn attempt(&self, read: &str, writes: &[String], value: &str) -> io::Result<bool> {
        match self {
            Way::Direct(direct, keyspace) => {
                let done = async {
                    let txn = direct.begin();
                    txn.get(keyspace, read.as_bytes()).await?;
                    for key in writes {
                        let value = Bytes::copy_from_slice(value.as_bytes());
                        txn.put(keyspace, key.as_bytes(), value)?;
                    }
                    txn.commit().await
                };
                match done.await {
                    Ok(_) => Ok(true),
                    Err(ClientError::Conflict(_)) => Ok(false),
                    Err(error) => Err(io::Error::other(error)),
                }
            }
            Way::Postgres(sql) => sql.attempt(read, writes, value).await,
        }
    }
}
