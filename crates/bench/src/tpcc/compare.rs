//! The same transactions on Dunlin and on PostgreSQL, one after the other: they must have the same results, and leave the same
//! rows.

use dunlin_tpcc::dunlin::Dunlin;
use dunlin_tpcc::input::{Draw, Input, Mix};
use dunlin_tpcc::postgres::{Isolation, Postgres};
use dunlin_tpcc::random::Random;
use dunlin_tpcc::target::{Done, Fault};
use dunlin_tpcc::terminal::{Floor, one};

use super::case::{Engine, Medium, TpccCase};
use super::database::{Database, TpccSetting, address, failed, population, runtime, servers};
use super::options::CompareOptions;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::program;
use crate::progress::Progress;

/// The run of its payments.
const RUN: u64 = 1;

/// Compares them; a line about it where they are the same.
///
/// # Errors
/// When a result or a row differs, or a server fails.
pub fn compare(options: &CompareOptions, interrupt: &Interrupt) -> Result<String, BenchError> {
    let progress = Progress::start();
    let dunlin = program::dunlin_or(options.dunlin.as_deref())?;
    let disk = std::env::temp_dir();
    let setting = TpccSetting {
        dunlin: &dunlin,
        disk: &disk,
        warehouses: options.warehouses,
        population: population(!options.whole, options.seed),
    };
    let start = |engine| {
        let case = TpccCase {
            engine,
            medium: Medium::Memory,
            replicas: 1,
        };
        Database::start(&setting, case, interrupt, &progress)
    };
    let own = start(Engine::Dunlin)?;
    let other = start(Engine::ReadCommitted)?;
    let (runtime, tasks) = runtime()?;
    let compared = tasks.block_on(&runtime, async {
        let first = Dunlin::new(&servers(&own.cluster), true)?;
        let second = Postgres::new(&address(&other.cluster), Isolation::ReadCommitted).await?;
        let mut draw = draw(
            &setting,
            own.loaded
                .constants()
                .of_run(&mut Random::new(options.seed)),
        );
        let floor = Floor::default();
        for number in 0..options.transactions {
            let input = draw.next(setting.population.date_ms + i64::from(number));
            let own = one(&first, &input, &floor).await?;
            let other = one(&second, &input, &floor).await?;
            same(&input, (own, other))?;
        }
        Ok(())
    });
    compared.map_err(|fault| failed(Engine::Dunlin, &fault))?;
    let differences = own.dump()?.differences(&other.dump()?);
    if !differences.is_empty() {
        let fault = Fault::Failed(format!(
            "rows differ from PostgreSQL's: {}",
            differences.join(", ")
        ));
        return Err(failed(Engine::Dunlin, &fault));
    }
    Ok(format!(
        "{} transactions had the same results on Dunlin and PostgreSQL, and left the same rows in all tables",
        options.transactions
    ))
}

fn draw(setting: &TpccSetting<'_>, constants: dunlin_tpcc::random::Constants) -> Draw {
    let all = (setting.warehouses, setting.population.scale);
    Draw::new(Mix::Full, all, constants, (RUN, setting.population.seed, 0))
}

fn same(input: &Input, (own, other): (Option<Done>, Option<Done>)) -> Result<(), Fault> {
    if own == other {
        return Ok(());
    }
    Err(Fault::Failed(format!(
        "{input:?}: {own:?}, and on PostgreSQL {other:?}"
    )))
}
