//! The `dunlin` command.
//!
//! Map of the crate:
//! - [`run`]: command line in, exit code out; [`args`] names the verbs and turns wrong use into one line
//! - [`command`]: one file a verb
//! - [`config`]: settings of `serve`, from flags, environment and file
//! - [`import`]: formats, loading, report
//! - [`demo`]: the cluster of processes that `dunlin demo` starts, kills, and checks
//! - [`cluster`]: nodes in this process; [`lock`], [`signal`], [`panics`], [`processor`], [`runtime`] and [`machine`] around them
//! - [`connect`], [`login`], [`key`], [`failure`], [`members`], [`output`], [`table`], [`units`]: what the verbs share
#![deny(unsafe_code)]
// The command line is what stands outside the simulation: files, threads, clocks are its own.
#![allow(clippy::disallowed_methods)]

pub mod args;
pub mod cluster;
pub mod command;
pub mod config;
pub mod connect;
pub mod demo;
pub mod exec;
pub mod failure;
pub mod import;
pub mod key;
pub mod link_transport;
pub mod lock;
pub mod login;
pub mod machine;
pub mod margin;
pub mod members;
pub mod output;
pub mod panics;
pub mod processor;
pub mod runtime;
pub mod shortage;
pub mod signal;
pub mod table;
pub mod trust;
pub mod units;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs a command line. All that goes wrong is one line on standard error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    if let Some(instructions) = processor::lacks() {
        eprintln!(
            "dunlin: this processor has no {instructions}; take a newer one (x86-64-v2 with PCLMULQDQ, or ARMv8 with CRC32 and cryptography)"
        );
        return ExitCode::FAILURE;
    }
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments
        .get(1)
        .is_some_and(|first| first == dunlin_views::ENGINE)
    {
        return dunlin_views::work();
    }
    let command = match args::parse(arguments) {
        Ok(args::Parsed::Command(command)) => command,
        Ok(args::Parsed::Text(text)) => {
            let mut output = output::Output::new();
            // Whoever asked for help and went away does not want to know.
            let _ = output.bytes(text.as_bytes()).and_then(|()| output.flush());
            return ExitCode::SUCCESS;
        }
        Err(failure) => return report(&failure),
    };
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn report(failure: &failure::Failure) -> ExitCode {
    if !matches!(failure, failure::Failure::OutputClosed) {
        // The exit code tells, too, where nobody takes the line.
        let _ = writeln!(std::io::stderr(), "dunlin: {failure}");
    }
    ExitCode::from(failure.exit_code())
}
