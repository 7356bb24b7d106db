//! `dunlin-sim`: runs seeds and tells which fail.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dunlin_sim::{Counts, Plan, Sabotage, run};

/// Runs clusters under simulated network, disk and clock, one seed after another.
#[derive(Parser)]
#[command(name = "dunlin-sim")]
struct Options {
    /// How many seeds to run.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Run this one seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Plant a deliberate bug, and take the seeds in which it matters: AckUnsynced, IgnoreGaps, NoRestamp, FirstAnswer, ForgetTombstones, FlushUnsynced, SkipTail, SkipJoint.
    #[arg(long, value_parser = sabotage, default_value = "None")]
    sabotage: Sabotage,
    /// Print what the nodes say.
    #[arg(long)]
    trace: bool,
    /// Go on after a failing seed.
    #[arg(long)]
    keep_going: bool,
}

fn sabotage(name: &str) -> Result<Sabotage, String> {
    Sabotage::ALL
        .into_iter()
        .find(|s| format!("{s:?}").eq_ignore_ascii_case(name))
        .ok_or_else(|| format!("one of {:?}", Sabotage::ALL))
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
    let (first, count) = match options.seed {
        Some(seed) => (seed, 1),
        None => (options.from, options.seeds),
    };
    let seeds = (first..)
        .filter(|seed| options.seed.is_some() || Plan::new(*seed, options.sabotage).tempts())
        .take(usize::try_from(count).unwrap_or(usize::MAX));
    let begun = Instant::now();
    let mut counts = Counts::default();
    let (mut ran, mut failed) = (0, Vec::new());
    for seed in seeds {
        let verdict = match run(seed, options.sabotage) {
            Ok(verdict) => verdict,
            Err(error) => {
                eprintln!("seed {seed}: {error}");
                return ExitCode::from(2);
            }
        };
        ran += 1;
        counts += verdict.counts;
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
    println!(
        "{ran} seeds in {:.1} s, {} failed {failed:?}; {counts}",
        begun.elapsed().as_secs_f64(),
        failed.len()
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
