//! `dunlin-bench`: see the library for the map.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use dunlin_bench::error::BenchError;
use dunlin_bench::host::date;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::options::{
    CopyOptions, MoveOptions, Options, PairOptions, QuorumOptions, RangesOptions,
    ReplicationOptions, RivalsOptions, ShardsOptions, Table, TxnOptions, ViewsOptions, WalOptions,
};
use dunlin_bench::tpcc::options::{TpccCommand, TpccOptions};
use dunlin_bench::{
    contention, copy, ladder, moves, quorum, ranges, replication, report, rivals, rpc, shards,
    tpcc, transport, views, wal,
};

// The date of a report is the one thing here that is taken from the calendar.
#[allow(clippy::disallowed_methods)]
fn main() -> ExitCode {
    let options = Options::parse();
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    match run(options, &date::utc(seconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dunlin-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options, date_utc: &str) -> Result<(), BenchError> {
    let command_line = command_line();
    match options.table {
        Table::Quorum(options) => run_quorum(options, date_utc, &command_line),
        Table::Wal(options) => run_wal(&options, date_utc, &command_line),
        Table::Copy(options) => run_copy(&options, date_utc, &command_line),
        Table::Move(options) => run_move(&options, date_utc, &command_line),
        Table::Shards(options) => run_shards(&options, date_utc, &command_line),
        Table::Ranges(options) => run_ranges(&options, date_utc, &command_line),
        Table::Txn(options) => run_txn(&options, date_utc, &command_line),
        Table::Replication(options) => run_replication(&options, date_utc, &command_line),
        Table::Views(options) => run_views(&options, date_utc, &command_line),
        Table::Transport(options) => run_transport(&options, date_utc, &command_line),
        Table::Rpc(options) => run_rpc(&options, date_utc, &command_line),
        Table::Tpcc(options) => run_tpcc(&options, date_utc, &command_line),
        Table::Rivals(options) => run_rivals(&options, date_utc, &command_line),
    }
}

/// As it would be typed anywhere: the program by its name alone.
fn command_line() -> String {
    let words = std::env::args().skip(1);
    std::iter::once("dunlin-bench".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

fn run_quorum(
    options: QuorumOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let out = options.out();
    let rivals = options.rivals.then(|| RivalsOptions::after(&options));
    let session = quorum::Session::new(options, Interrupt::watch()?)?;
    let report = quorum::run(&session, date_utc, command_line)?;
    report::write(&report, &out, "quorum")?;
    println!("{}", report::summary::render(&report));
    println!("written: {}/quorum.md, .json, .svg", out.display());
    match rivals {
        Some(options) => run_rivals(&options, date_utc, command_line),
        None => Ok(()),
    }
}

fn run_ranges(
    options: &RangesOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let report = ranges::run(options, &Interrupt::watch()?, date_utc, command_line)?;
    let written = ranges::report::write(&report, &options.out())?;
    println!("{}", ranges::report::table(&report));
    println!(
        "written: {}/{}",
        options.out().display(),
        written.join(", ")
    );
    Ok(())
}

fn run_txn(options: &TxnOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    if options.contention {
        return run_contention(options, date_utc, command_line);
    }
    let window = ladder::times(options).window;
    let origin = rpc::Origin::of((options.quick, window), date_utc, command_line);
    let report = ladder::run(options, &Interrupt::watch()?, origin)?;
    let written = ladder::report::write(&report, &options.out())?;
    println!("{}", ladder::report::table(&report));
    println!(
        "{}",
        report::summary::targets(&ladder::report::evaluate(&report))
    );
    println!(
        "written: {}/{}",
        options.out().display(),
        written.join(", ")
    );
    Ok(())
}

fn run_contention(
    options: &TxnOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let report = contention::run(options, &Interrupt::watch()?, date_utc, command_line)?;
    let written = contention::report::write(&report, &options.out())?;
    println!("{}", contention::report::table(&report));
    println!(
        "written: {}/{}",
        options.out().display(),
        written.join(", ")
    );
    Ok(())
}

fn run_tpcc(options: &TpccOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    match &options.command {
        Some(TpccCommand::Load(options)) => return tpcc::load(options),
        Some(TpccCommand::Compare(options)) => {
            let same = tpcc::compare::compare(options, &Interrupt::watch()?)?;
            println!("{same}");
            return Ok(());
        }
        None => {}
    }
    let window = Duration::from_secs_f64(options.seconds.max(0.0));
    let origin = rpc::Origin::of((false, window), date_utc, command_line);
    let report = tpcc::run(options, &Interrupt::watch()?, origin)?;
    let written = tpcc::report::write(&report, &options.out)?;
    println!("{}", tpcc::report::table(&report));
    println!("written: {}/{}", options.out.display(), written.join(", "));
    Ok(())
}

fn run_transport(
    options: &PairOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let origin = rpc::Origin::new(options, date_utc, command_line);
    let report = transport::run(options, &Interrupt::watch()?, origin)?;
    let written = transport::report::write(&report, &options.out())?;
    println!("{}", transport::report::table(&report));
    println!(
        "written: {}/{}",
        options.out().display(),
        written.join(", ")
    );
    Ok(())
}

fn run_rpc(options: &PairOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    let origin = rpc::Origin::new(options, date_utc, command_line);
    let report = rpc::run(options, &Interrupt::watch()?, origin)?;
    let written = rpc::report::write(&report, &options.out())?;
    println!("{}", rpc::report::table(&report));
    println!(
        "{}",
        report::summary::targets(&rpc::report::evaluate(&report))
    );
    println!(
        "written: {}/{}",
        options.out().display(),
        written.join(", ")
    );
    Ok(())
}

fn run_wal(options: &WalOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    let out = options.out();
    let session = wal::Session::new(options, Interrupt::watch()?)?;
    let report = wal::run(&session, date_utc, command_line)?;
    let written = wal::report::write(&report, &out)?;
    println!("{}", report::summary::targets(&report.targets));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}

fn run_copy(options: &CopyOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    let out = options.out();
    let session = copy::Session::new(options, Interrupt::watch()?)?;
    let report = copy::run(&session, date_utc, command_line)?;
    let written = copy::report::write(&report, &out)?;
    println!("{}", report::summary::targets(&report.targets));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}

fn run_move(options: &MoveOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    let out = options.out();
    let session = moves::Session::new(options, Interrupt::watch()?)?;
    let report = moves::run(&session, date_utc, command_line)?;
    let written = moves::report::write(&report, &out)?;
    println!("{}", report::summary::targets(&report.targets));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}

fn run_shards(
    options: &ShardsOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let out = options.out();
    let report = shards::run(options, &Interrupt::watch()?, date_utc, command_line)?;
    let written = shards::report::write(&report, &out)?;
    println!("{}", shards::report::table(&report));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}

fn run_views(options: &ViewsOptions, date_utc: &str, command_line: &str) -> Result<(), BenchError> {
    let out = options.out();
    let report = views::run(options, &Interrupt::watch()?, date_utc, command_line)?;
    let written = views::report::write(&report, &out)?;
    println!("{}", views::report::table(&report));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}

fn run_replication(
    options: &ReplicationOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let report = replication::run(options, &Interrupt::watch()?, date_utc, command_line)?;
    let written = replication::report::write(&report, &options.out)?;
    println!("{}", replication::report::tables(&report));
    println!("written: {}/{}", options.out.display(), written.join(", "));
    Ok(())
}

fn run_rivals(
    options: &RivalsOptions,
    date_utc: &str,
    command_line: &str,
) -> Result<(), BenchError> {
    let out = options.out();
    let session = rivals::Session::new(options, Interrupt::watch()?)?;
    let report = rivals::run(&session, date_utc, command_line)?;
    let written = rivals::report::write(&report, &out)?;
    println!("{}", rivals::report::tables(&report));
    println!("written: {}/{}", out.display(), written.join(", "));
    Ok(())
}
