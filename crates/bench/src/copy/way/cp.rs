//! `cp -r`.

use std::process::Command;

use crate::copy::Session;
use crate::copy::run::{Run, Transfer};
use crate::copy::source::Source;
use crate::error::BenchError;

/// Copies once: reading and writing, nothing shared between the files.
///
/// # Errors
/// When it fails, or the user stops the run.
pub fn run(session: &Session, source: &Source) -> Result<Run, BenchError> {
    let mut sender = Command::new("cp");
    sender
        .args(["-r", "--reflink=never"])
        .arg(&source.path)
        .arg(session.target());
    let transfer = Transfer {
        sender,
        receiver: None,
        bytes: source.holds.bytes,
    };
    Ok(transfer.carry_out(session)?.0)
}
