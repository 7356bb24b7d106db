//! `dunlin link verify`: compares the two clusters of a link while both are written to.

use std::io::IsTerminal;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use dunlin_client::{Difference, DifferentKey, LinkVerified, VerifyLink, VerifyPhase};
use indicatif::{ProgressBar, ProgressStyle};

use super::LinkName;
use crate::command::copy::{Rate, Span};
use crate::failure::Failure;
use crate::key::shown;
use crate::output::Output;
use crate::units::grouped;

const EXAMPLES: &str = "\
Both clusters may be written to meanwhile: a key that was just written is read again once the link has delivered it, so
no difference is reported that is only on its way. All values are compared that were written before the command.
Deletes count by their effect.

Exit code: 0 all is equal (or was repaired), 1 something differs, 3 not known, as when a node is away.

Examples:
  dunlin link verify east
  dunlin link verify east --repair --limit 50MB/s
  dunlin link verify east --json | jq .differences";

/// A tick of the progress bar, when nothing is reported.
const TICK: Duration = Duration::from_millis(200);
/// Keys that are named where people read.
const NAMED: usize = 20;

/// A comparison.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArgs {
    #[command(flatten)]
    link: LinkName,
    /// Send records that are missing there, and take those that are lost here
    #[arg(long)]
    repair: bool,
    /// Go on where an earlier one ended early
    #[arg(long)]
    resume: bool,
    /// Read at most so much a second
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// Wait so long until the link has delivered all earlier writes
    #[arg(long, value_name = "TIME", default_value = "60s")]
    wait: Span,
}

impl VerifyArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let LinkName { name, output } = self.link;
        let client = output.server.client()?;
        let link = client.link(&name).await?;
        let options = VerifyLink {
            repair: self.repair,
            resume: self.resume,
            limit_bytes_per_s: self.limit.map(|rate| rate.0),
            timeout_s: Some(self.wait.0.as_secs().max(1)),
        };
        let mut verification = client.verify_link(&link.from, &name, &options).await?;
        let bar = bar(!output.json);
        let mut last = LinkVerified::default();
        while let Some(verified) = verification.next().await? {
            bar.set_length(verified.partitions.max(1));
            bar.set_position(verified.compared);
            bar.set_message(progress(&verified));
            last = verified;
        }
        bar.finish_and_clear();
        if last.phase != VerifyPhase::Done {
            let line = "the server ended the comparison early: --resume goes on";
            return Err(Failure::NotKnown(line.to_owned()));
        }
        show(&name, &last, output.json)?;
        result(&last)
    }
}

fn bar(is_wanted: bool) -> ProgressBar {
    if !is_wanted || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} % {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

fn progress(verified: &LinkVerified) -> String {
    match verified.phase {
        VerifyPhase::Waiting => "waits until the link has delivered all up to now".to_owned(),
        VerifyPhase::Comparing | VerifyPhase::Done => format!(
            "{} values compared, {} keys differ",
            grouped(verified.records),
            grouped(verified.different())
        ),
    }
}

/// A kind of difference, for people.
fn name(what: Difference) -> &'static str {
    match what {
        Difference::MissingThere => "missing or older there",
        Difference::MissingOrDeletedThere => {
            "missing there, or deleted there longer ago than deletes are remembered"
        }
        Difference::NotDeletedThere => "deleted here, and still there",
        Difference::OtherValue => "the same version with another value there",
        Difference::NewerThere => "newer there, and no link brings it here",
        Difference::MissingHere => "newer there, and lost here",
    }
}

fn line(different: &DifferentKey) -> String {
    let key = STANDARD.decode(&different.key_base64).unwrap_or_default();
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
    format!(
        "  {}: {} (version here {}, there {})",
        shown(&key),
        name(different.what),
        version(&different.version_here),
        version(&different.version_there)
    )
}

fn show(link: &str, verified: &LinkVerified, json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        output.json(verified)?;
        return output.flush();
    }
    output.line(format!(
        "{link}: {} values compared, {} keys read on majorities of both clusters",
        grouped(verified.records),
        grouped(verified.confirmed)
    ))?;
    for (what, count) in &verified.differences {
        output.line(format!("  {} keys: {}", grouped(*count), name(*what)))?;
    }
    if verified.repaired > 0 {
        output.line(format!("  {} of them repaired", grouped(verified.repaired)))?;
    }
    for different in verified.examples.iter().take(NAMED) {
        output.line(line(different))?;
    }
    if verified.examples.len() > NAMED {
        output.line("  --json names more")?;
    }
    output.flush()
}

/// How the command ends.
fn result(verified: &LinkVerified) -> Result<(), Failure> {
    let why = verified.why.as_ref().map(|why| format!(": {why}"));
    let why = why.unwrap_or_default();
    let different = verified.different().saturating_sub(verified.repaired);
    if different > 0 {
        let line = format!("{} keys differ{why}", grouped(different));
        return Err(Failure::Failed(line));
    }
    if verified.not_known > 0 {
        return Err(Failure::NotKnown(format!("not known{why}")));
    }
    Ok(())
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
