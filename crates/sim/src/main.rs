//! `dunlin-sim`: runs seeds and tells which fail.

use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use dunlin_sim::{
    Checked, Counts, HarnessError, RANGES, SEEDS, Sabotage, Verdict, find, run, run_all,
    run_linked, run_twice, tempts,
};

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
    /// How many to run at a time; as many as there are processors when not given.
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// Run each seed twice: a seed that is not the same run again fails.
    #[arg(long)]
    twice: bool,
    /// Run linked clusters only, one run for each seed.
    #[arg(long)]
    linked: bool,
    /// Print what the nodes say; one seed at a time.
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
fn prove(only: Sabotage) -> Result<bool, HarnessError> {
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

impl Options {
    fn jobs(&self) -> usize {
        match (self.trace, self.jobs) {
            (true, _) => 1,
            (false, Some(jobs)) => jobs.get(),
            (false, None) => available_parallelism().map_or(1, NonZero::get),
        }
    }

    /// Writes what clients did and saw, where that is wanted.
    #[allow(
        clippy::disallowed_methods,
        reason = "a file for people and other programs"
    )]
    fn keep_history(&self, verdict: &Verdict) -> Result<(), String> {
        let Some(file) = &self.history else {
            return Ok(());
        };
        let lines = dunlin_history::to_lines(&verdict.operations);
        std::fs::write(file, lines).map_err(|error| format!("{}: {error}", file.display()))
    }
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
        .filter(|seed| options.seed.is_some() || tempts(*seed, options.sabotage))
        .take(usize::try_from(count).unwrap_or(usize::MAX));
    let begun = Instant::now();
    let mut counts = Counts::default();
    let mut checked = Checked::default();
    let (mut ran, mut failed) = (0_u32, Vec::new());
    let mut broken = None;
    let run_one = |seed| {
        if options.linked {
            run_linked(seed, options.sabotage)
        } else if options.twice {
            run_twice(seed, options.sabotage)
        } else {
            run(seed, options.sabotage)
        }
    };
    run_all(seeds, options.jobs(), run_one, |seed, verdict| {
        let told = verdict
            .map_err(|error| format!("seed {seed}: {error}"))
            .and_then(|verdict| {
                options.keep_history(&verdict)?;
                Ok(verdict)
            });
        let verdict = match told {
            Ok(verdict) => verdict,
            Err(error) => {
                broken = Some(error);
                return false;
            }
        };
        ran += 1;
        counts += verdict.counts;
        checked += verdict.checked;
        let trace = verdict.trace_hash;
        match verdict.failure {
            None => {
                let simulated_s = verdict.simulated_ms / 1_000;
                println!("seed {seed}: fine, {simulated_s} s simulated, trace {trace:016x}");
                true
            }
            Some(failure) => {
                println!("{failure}\ntrace {trace:016x}");
                failed.push(seed);
                options.keep_going
            }
        }
    });
    if let Some(error) = broken {
        eprintln!("{error}");
        return ExitCode::from(2);
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
