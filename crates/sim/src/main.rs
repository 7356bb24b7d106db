//! `dunlin-sim`: runs seeds and tells which fail.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dunlin_sim::{Checked, Counts, Plan, RANGES, SEEDS, Sabotage, find, run};

/// Runs clusters under simulated network, disk and clock, one seed after another.
#[derive(Parser)]
#[command(name = "dunlin-sim")]
struct Options {
    /// How many seeds to run, or which: `A..B` (without B).
    #[arg(long, default_value = "100", value_parser = seeds)]
    seeds: Seeds,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Run this one seed only.
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, value_parser = sabotage, default_value = "None", help = format!(
        "Plant a deliberate bug, and take the seeds in which it matters; judge by values alone: {}",
        sabotages()
    ))]
    sabotage: Sabotage,
    /// Look for each deliberate bug (or the one given) in ten ranges of 500 seeds each.
    #[arg(long)]
    proof: bool,
    /// Print what the nodes say.
    #[arg(long)]
    trace: bool,
    /// Write what clients did and saw to this file, as JSON lines (`docs/formats.md`, History).
    #[arg(long)]
    history: Option<std::path::PathBuf>,
    /// Go on after a failing seed.
    #[arg(long)]
    keep_going: bool,
}

#[derive(Debug, Clone, Copy)]
enum Seeds {
    Count(u64),
    Range(u64, u64),
}

fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number"));
    Ok(match text.split_once("..") {
        Some((from, to)) => Seeds::Range(number(from)?, number(to)?),
        None => Seeds::Count(number(text)?),
    })
}

/// Looks for deliberate bugs; whether all were found everywhere.
fn prove(only: Sabotage) -> Result<bool, dunlin_sim::HarnessError> {
    let mut all = true;
    for sabotage in Sabotage::ALL {
        if sabotage == Sabotage::None || only != Sabotage::None && only != sabotage {
            continue;
        }
        let (mut found, mut runs) = (0, 0);
        for range in 0..RANGES {
            let first = 1 + range * SEEDS;
            match find(sabotage, first, SEEDS)? {
                Some(bug) => {
                    found += 1;
                    runs += bug.runs;
                    println!(
                        "{sabotage:?} in {first}..{}: run {}: {}",
                        first + SEEDS,
                        bug.runs,
                        bug.line
                    );
                }
                None => println!("{sabotage:?} in {first}..{}: NOT FOUND", first + SEEDS),
            }
        }
        println!("{sabotage:?}: found in {found} of {RANGES} ranges, after {runs} runs in all");
        all &= found == RANGES;
    }
    Ok(all)
}

fn sabotage(name: &str) -> Result<Sabotage, String> {
    Sabotage::ALL
        .into_iter()
        .find(|s| format!("{s:?}").eq_ignore_ascii_case(name))
        .ok_or_else(sabotages)
}

fn sabotages() -> String {
    let names = Sabotage::ALL.map(|sabotage| format!("{sabotage:?}"));
    format!("one of {}", names.join(", "))
}

#[allow(
    clippy::disallowed_methods,
    reason = "a file for people and other programs"
)]
fn write(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    std::fs::write(file, text)
}

#[allow(
    clippy::disallowed_methods,
    reason = "tells people how long it really took"
)]
fn main() -> ExitCode {
    let options = Options::parse();
    if options.trace {
        tracing_subscriber::fmt()
            .with_env_filter(
                tracing_subscriber::EnvFilter::try_from_default_env()
                    .unwrap_or_else(|_| "info,turmoil=warn".into()),
            )
            .with_writer(std::io::stderr)
            .without_time()
            .init();
    }
    if options.proof {
        return match prove(options.sabotage) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        };
    }
    let (first, end, count) = match (options.seed, options.seeds) {
        (Some(seed), _) => (seed, u64::MAX, 1),
        (None, Seeds::Count(count)) => (options.from, u64::MAX, count),
        (None, Seeds::Range(from, to)) => (from, to, u64::MAX),
    };
    let seeds = (first..end)
        .filter(|seed| options.seed.is_some() || Plan::new(*seed, options.sabotage).tempts())
        .take(usize::try_from(count).unwrap_or(usize::MAX));
    let begun = Instant::now();
    let mut counts = Counts::default();
    let mut checked = Checked::default();
    let (mut ran, mut failed) = (0_u32, Vec::new());
    for seed in seeds {
        let verdict = match run(seed, options.sabotage) {
            Ok(verdict) => verdict,
            Err(error) => {
                eprintln!("seed {seed}: {error}");
                return ExitCode::from(2);
            }
        };
        ran += 1;
        if let Some(file) = &options.history
            && let Err(error) = write(file, &dunlin_history::to_lines(&verdict.operations))
        {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
        counts += verdict.counts;
        checked += verdict.checked;
        match &verdict.failure {
            None => println!(
                "seed {seed}: fine, {} s simulated, trace {:016x}",
                verdict.simulated_ms / 1_000,
                verdict.trace_hash
            ),
            Some(failure) => {
                println!("{failure}\ntrace {:016x}", verdict.trace_hash);
                failed.push(seed);
                if !options.keep_going {
                    break;
                }
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{ran} seeds in {seconds:.1} s ({:.0} an hour), {} failed {failed:?}; {checked}; {counts}",
        f64::from(ran) * 3_600.0 / seconds,
        failed.len()
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
