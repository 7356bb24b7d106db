//! `dunlin keyspace drop`: asks before it drops what everybody uses.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;

use crate::connect::{DEFAULT_KEYSPACE, Server};
use crate::failure::Failure;

pub const EXAMPLES: &str = "\
Until the delay is over `dunlin keyspace undrop NAME` takes it back. The keyspace `default`, which
commands and /v0 use when none is named, is dropped after a question only, or with --yes.

Examples:
  dunlin keyspace drop birds
  dunlin keyspace drop default --yes";

/// Arguments of `keyspace drop`.
#[derive(Debug, Args)]
pub struct DropKeyspace {
    /// Name
    name: String,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    server: Server,
}

impl DropKeyspace {
    /// Drops it.
    pub async fn run(self) -> Result<(), Failure> {
        if self.name == DEFAULT_KEYSPACE && !self.yes {
            asked(io::stdin().is_terminal(), &mut io::stdin().lock())?;
        }
        Ok(self.server.client()?.drop_keyspace(&self.name).await?)
    }
}

/// Asks a person; whoever is none is told how to say it.
fn asked(is_person: bool, answers: &mut impl BufRead) -> Result<(), Failure> {
    let kept = |line: &str| Err(Failure::Usage(line.to_owned()));
    if !is_person {
        return kept(
            "the keyspace default is what /v0 and every command use that name none: --yes drops it",
        );
    }
    let mut errors = io::stderr();
    // Who cannot read the question cannot answer it either.
    let _ = write!(
        errors,
        "Drop the keyspace default, which /v0 and every command use that name none? [y/N] "
    );
    let _ = errors.flush();
    let mut answer = String::new();
    let read = answers.read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => kept("nothing was dropped"),
    }
}

#[cfg(test)]
#[path = "drop_tests.rs"]
mod tests;
