//! A database that is loaded, with its servers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dunlin_client::{Client, ClientError, CreateKeyspace};
use dunlin_tpcc::dunlin::{Dunlin, KEYSPACE};
use dunlin_tpcc::load::{Loaded, Store, load};
use dunlin_tpcc::population::Population;
use dunlin_tpcc::postgres::{Admin, ServerAddress};
use dunlin_tpcc::scale::Scale;
use dunlin_tpcc::tables::{Dump, Tables};
use dunlin_tpcc::target::Fault;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use super::case::{Engine, Medium, TpccCase};
use crate::cluster::{Cluster, Sync, alone, postgres, processes};
use crate::error::BenchError;
use crate::host::pinned::pin_process;
use crate::host::tree;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::ranges::remote::{self, ORACLE};

/// The node that leads all rows.
pub const LEADER: &str = "n1";
/// Between lines about the load.
const REPORTED: Duration = Duration::from_secs(5);
/// For how long transactions may last and old versions are kept: the hottest rows have many.
const BOUNDS: [&str; 4] = ["--txn-time", "15s", "--txn-retention", "45s"];

/// What transactions are sent to.
pub struct Database {
    /// Whose.
    pub engine: Engine,
    /// Its servers.
    pub cluster: Cluster,
    /// Its load.
    pub loaded: Loaded,
    /// Rows that were loaded a second.
    pub loaded_per_s: f64,
}

/// Where to find what.
#[derive(Debug)]
pub struct TpccSetting<'a> {
    /// The program.
    pub dunlin: &'a Path,
    /// Where data on the disk are.
    pub disk: &'a Path,
    /// Warehouses.
    pub warehouses: u32,
    /// Their rows.
    pub population: Population,
}

/// Rows as specified, or a tenth of them.
pub fn population(tenth: bool, seed: u64) -> Population {
    Population {
        scale: if tenth { Scale::TENTH } else { Scale::FULL },
        seed,
        date_ms: now_ms(),
    }
}

/// A runtime for what stays on one thread.
///
/// # Errors
/// When the system has no more.
pub fn runtime() -> std::io::Result<(Runtime, LocalSet)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok((runtime, LocalSet::new()))
}

/// What could not be done, of whom.
pub fn failed(engine: Engine, fault: &Fault) -> BenchError {
    BenchError::Rival {
        program: engine.name().to_owned(),
        why: fault.to_string(),
    }
}

impl Database {
    /// Starts servers, and loads them.
    ///
    /// # Errors
    /// When a server does not start or refuses, or the user stops the run.
    pub fn start(
        setting: &TpccSetting<'_>,
        case: TpccCase,
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<Database, BenchError> {
        let place = match case.medium {
            Medium::Memory => PathBuf::from("/dev/shm"),
            Medium::Disk => setting.disk.to_owned(),
        };
        let cluster = match case.engine {
            Engine::Dunlin => dunlin(setting.dunlin, &place, case.replicas, interrupt)?,
            Engine::ReadCommitted | Engine::Serializable => {
                let programs = postgres::programs().ok_or(BenchError::Missing {
                    program: "PostgreSQL",
                    package: "postgresql",
                })?;
                postgres::start(&programs, &place, interrupt)?
            }
        };
        for pid in cluster.pids().into_iter().flat_map(tree::of) {
            pin_process(pid, 1)?;
        }
        progress.say(&format!("{}: loading", case.name()));
        let all = (setting.warehouses, setting.population);
        let (loaded, loaded_per_s) = match case.engine {
            Engine::Dunlin => {
                let servers = servers(&cluster);
                let store = || async move { Dunlin::new(&servers, true) };
                filled(case.engine, all, store, progress)?
            }
            Engine::ReadCommitted | Engine::Serializable => {
                let address = address(&cluster);
                let store = || async move { Admin::new(&address).await };
                filled(case.engine, all, store, progress)?
            }
        };
        let engine = case.engine;
        let database = Database {
            engine,
            cluster,
            loaded,
            loaded_per_s,
        };
        if engine != Engine::Dunlin {
            let address = address(&database.cluster);
            let (runtime, tasks) = runtime()?;
            let analyzed = async { Admin::new(&address).await?.analyze().await };
            let done = tasks.block_on(&runtime, analyzed);
            done.map_err(|fault| failed(engine, &fault))?;
        }
        Ok(database)
    }

    /// All rows.
    ///
    /// # Errors
    /// When the server does not give them.
    pub fn dump(&self) -> Result<Tables, BenchError> {
        let (runtime, tasks) = runtime()?;
        let warehouses = self.loaded.warehouses;
        let tables = tasks.block_on(&runtime, async {
            match self.engine {
                Engine::Dunlin => {
                    Dunlin::new(&servers(&self.cluster), true)?
                        .dump(warehouses)
                        .await
                }
                _ => {
                    Admin::new(&address(&self.cluster))
                        .await?
                        .dump(warehouses)
                        .await
                }
            }
        });
        tables.map_err(|fault| failed(self.engine, &fault))
    }

    /// Bytes on the disk of all replicas, logs included.
    pub fn bytes(&self) -> u64 {
        bytes_below(self.cluster.directory())
    }
}

/// Dunlin's servers, as a client is given them.
pub fn servers(cluster: &Cluster) -> String {
    let urls = cluster.addresses.iter().map(|at| format!("http://{at}"));
    urls.collect::<Vec<_>>().join(",")
}

/// Where PostgreSQL is.
pub fn address(cluster: &Cluster) -> ServerAddress {
    ServerAddress {
        at: cluster.addresses[0],
        user: postgres::USER.to_owned(),
        database: "postgres".to_owned(),
    }
}

fn dunlin(
    program: &Path,
    place: &Path,
    replicas: u8,
    interrupt: &Interrupt,
) -> Result<Cluster, BenchError> {
    let mut more = BOUNDS.map(str::to_owned).to_vec();
    let cluster = if replicas == 1 {
        more.extend(["--shards", "1"].map(str::to_owned));
        alone::start(program, place, Sync::Always, &more, interrupt)?
    } else {
        let setup = processes::Setup {
            dunlin: program,
            sync: Sync::Always,
            more: &more,
            shards: 1,
            members: processes::MEMBERS,
            spare: 0,
        };
        processes::start_with(&setup, place, interrupt)?
    };
    let at = cluster.addresses[0];
    let body = format!(r#"{{"name":"{KEYSPACE}","mode":"transactional","replicas":{replicas}}}"#);
    remote::create((at, interrupt), &body)?;
    if replicas > 1 {
        remote::lead_all((at, interrupt), &[KEYSPACE, ORACLE], LEADER)?;
    } else {
        remote::until((at, interrupt), KEYSPACE, "a leader", |led| led.is_whole)?;
    }
    Ok(cluster)
}

/// Loads so many warehouses, and says how fast: the load, and rows a second.
///
/// # Errors
/// When the server refuses.
pub fn filled<S: Store, F: Future<Output = Result<S, Fault>>>(
    engine: Engine,
    all: (u32, Population),
    store: impl FnOnce() -> F,
    progress: &Progress,
) -> Result<(Loaded, f64), BenchError> {
    let (runtime, tasks) = runtime()?;
    let (began, mut said) = (progress.elapsed(), progress.elapsed());
    let mut rows = 0;
    let loaded = tasks.block_on(&runtime, async {
        let store = store().await?;
        load(&store, all, |warehouse, more| {
            rows += more;
            let now = progress.elapsed();
            if now - said >= REPORTED {
                said = now;
                progress.say(&rate(warehouse, rows, now - began));
            }
        })
        .await
    });
    let loaded = loaded.map_err(|fault| failed(engine, &fault))?;
    let lasted = progress.elapsed() - began;
    progress.say(&rate(loaded.warehouses, rows, lasted));
    Ok((loaded, rows_per_s(rows, lasted)))
}

fn rate(warehouse: u32, rows: u64, lasted: Duration) -> String {
    let per_s = rows_per_s(rows, lasted);
    format!("warehouse {warehouse}: {rows} rows, {per_s:.0}/s")
}

fn rows_per_s(rows: u64, lasted: Duration) -> f64 {
    rows as f64 / lasted.as_secs_f64().max(1e-9)
}

/// Makes the keyspace where it is not there.
///
/// # Errors
/// When the servers refuse.
pub async fn make_keyspace(server: &str) -> Result<(), Fault> {
    let wanted = CreateKeyspace {
        name: KEYSPACE.to_owned(),
        mode: Some("transactional".to_owned()),
        ..CreateKeyspace::default()
    };
    match Client::new(server)?.create_keyspace(&wanted).await {
        Ok(_) => Ok(()),
        Err(ClientError::Refused { status: 409, .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Bytes of files below a directory: servers remove some meanwhile.
fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

/// The date, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
