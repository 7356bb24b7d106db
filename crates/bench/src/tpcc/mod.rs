//! A workload derived from TPC-C, on Dunlin and on PostgreSQL.
//!
//! - [`options`]: the command line; [`case`]: servers and media; [`database`]: servers that are loaded
//! - [`mod@compare`]: both stores, transaction by transaction
//! - [`mod@run`]: one round; [`mod@figures`], [`model`]: what it came to; [`report`]: the tables; [`log`]: deliveries; [`targets`]: targets

use std::time::Duration;

use dunlin_tpcc::dunlin::Dunlin;
use dunlin_tpcc::input::Mix;
use dunlin_tpcc::postgres::{Admin, ServerAddress};
use dunlin_tpcc::terminal::Waits;

use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::program;
use crate::progress::Progress;
use crate::rpc::Origin;
use crate::spread::Runs;

pub mod case;
pub mod compare;
pub mod database;
pub mod figures;
pub mod log;
pub mod model;
pub mod options;
pub mod report;
pub mod run;
pub mod targets;

use case::{Engine, Medium, TpccCase, Workload};
use database::{Database, TpccSetting, filled, make_keyspace, population};
use log::DeliveryLog;
use model::{Tpcc, TpccRuns, WorkloadRuns};
use options::{Beside, LoadOptions, LoadTarget, TpccOptions};
use run::{Known, TpccRound};

/// Warehouses of the largest workload of all.
const MANY: u32 = 10;
/// Before a round counts.
const WARM: Duration = Duration::from_secs(5);

/// Carries it out: in every round each case has its turn.
///
/// # Errors
/// When a server does not start, a transaction fails, a condition does not hold, or the user stops the run.
pub fn run(
    options: &TpccOptions,
    interrupt: &Interrupt,
    origin: Origin,
) -> Result<Tpcc, BenchError> {
    let progress = Progress::start();
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    let disk = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let setting = TpccSetting {
        dunlin: &dunlin,
        disk: &disk,
        warehouses: options.warehouses,
        population: population(options.tenth, options.seed),
    };
    let mut log = DeliveryLog::create(&options.deliveries)?;
    let mut report = Tpcc {
        origin,
        keying: options.keying,
        is_killed: options.kill_leader,
        scale: setting.population.scale,
        workloads: Vec::new(),
    };
    for (mix, warehouses, terminals) in workloads(options) {
        let workload = Workload {
            mix: mix.name(),
            warehouses,
            terminals,
        };
        progress.say(&workload.name());
        let setting = TpccSetting {
            warehouses,
            ..setting
        };
        let round = TpccRound {
            mix,
            terminals,
            waits: if options.keying {
                Waits::Keying
            } else {
                Waits::Fastest
            },
            warm: WARM,
            window: Duration::from_secs_f64(options.seconds.max(0.1)),
            seed: options.seed,
            is_killed: options.kill_leader,
        };
        let running = (interrupt, &progress, &mut log);
        let (rows, loads_per_s) = measured(options, (&setting, round), running)?;
        report.workloads.push(WorkloadRuns {
            workload,
            rows,
            loads_per_s,
        });
    }
    Ok(report)
}

/// All cases of a workload, and the rows that were loaded a second for each.
fn measured(
    options: &TpccOptions,
    (setting, round): (&TpccSetting<'_>, TpccRound),
    (interrupt, progress, log): (&Interrupt, &Progress, &mut DeliveryLog),
) -> Result<(Vec<TpccRuns>, Vec<f64>), BenchError> {
    let (mut databases, mut loads_per_s) = (Vec::new(), Vec::new());
    let cases = cases(options, setting.warehouses);
    for &case in &cases {
        let database = Database::start(setting, case, interrupt, progress)?;
        let known = Known::of(&database)?;
        progress.say(&format!("{}: all conditions hold", case.name()));
        loads_per_s.push(database.loaded_per_s);
        databases.push((database, known));
    }
    let mut rows: Vec<TpccRuns> = Runs::all(cases);
    for number in 0..options.repeats {
        for (row, (database, known)) in rows.iter_mut().zip(&mut databases) {
            interrupt.check()?;
            let round = TpccRound {
                seed: round.seed + u64::from(number),
                is_killed: round.is_killed && row.case.engine == Engine::Dunlin,
                ..round
            };
            let (figures, deliveries) = run::run(database, known, round, interrupt)?;
            log.add(&row.case.name(), &deliveries)?;
            progress.say(&report::line(row.case, &figures));
            row.runs.push(figures);
        }
    }
    Ok((rows, loads_per_s))
}

/// Mix, warehouses and terminals of each workload.
fn workloads(options: &TpccOptions) -> Vec<(Mix, u32, u32)> {
    if options.all {
        return vec![
            (Mix::Paper, 1, 1),
            (Mix::Full, 1, 10),
            (Mix::Full, MANY, 10),
        ];
    }
    let mix = options.mix.mix();
    let each = if mix == Mix::Paper { 1 } else { 10 };
    let terminals = options.terminals.unwrap_or(each * options.warehouses);
    vec![(mix, options.warehouses, terminals)]
}

/// Servers and where their data are.
fn cases(options: &TpccOptions, warehouses: u32) -> Vec<TpccCase> {
    let media = match options.media.as_slice() {
        [] if options.all && warehouses < MANY => vec![Medium::Memory, Medium::Disk],
        [] => vec![Medium::Memory],
        media => media.to_vec(),
    };
    let mut cases = Vec::new();
    for medium in media {
        cases.push(TpccCase {
            engine: Engine::Dunlin,
            medium,
            replicas: options.replicas,
        });
        if options.all && medium == Medium::Memory {
            cases.push(TpccCase {
                engine: Engine::Dunlin,
                medium,
                replicas: 3,
            });
        }
        if options.all || options.beside.contains(&Beside::Postgres) {
            let rivals = [Engine::ReadCommitted, Engine::Serializable];
            cases.extend(rivals.map(|engine| TpccCase {
                engine,
                medium,
                replicas: 1,
            }));
        }
    }
    cases
}

/// Loads servers that run already.
///
/// # Errors
/// When they refuse, or hold other rows.
pub fn load(options: &LoadOptions) -> Result<(), BenchError> {
    let progress = Progress::start();
    let all = (options.warehouses, population(options.tenth, options.seed));
    match options.target {
        LoadTarget::Dunlin => {
            let store = || async {
                make_keyspace(&options.server).await?;
                Dunlin::new(&options.server, true)
            };
            filled(Engine::Dunlin, all, store, &progress)?;
        }
        LoadTarget::Postgres => {
            let address = ServerAddress {
                at: options.postgres,
                user: options.user.clone(),
                database: options.database.clone(),
            };
            let store = || async { Admin::new(&address).await };
            filled(Engine::ReadCommitted, all, store, &progress)?;
        }
    }
    Ok(())
}
