//! `dunlin keyspace mend-stamps`: what a clock far ahead left behind is stamped as of now.

use std::collections::BTreeSet;

use clap::Args;
use dunlin_client::{Client, FarRecord};
use serde::Serialize;

use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::table::{Align, Cell, Table};

pub const EXAMPLES: &str = "\
For when writes to some keys fail, and nodes cannot copy them, because a node's clock was far ahead
when they were written: their stamps lie beyond --clock-bound (of `dunlin serve`, 10 s), and nothing
can be stamped above them. Set the clocks right first. Without --yes it only tells what it finds.
With it each such value, and each remembered delete, is stamped as of now on all its replicas; reads
give what they gave, and writes are taken again. All members must be up. It may be run again, and be
broken off, at any time.

Examples:
  dunlin keyspace mend-stamps birds
  dunlin keyspace mend-stamps birds --yes";

/// Records named, of however many there are.
const NAMED: usize = 20;

/// Arguments of `keyspace mend-stamps`.
#[derive(Debug, Args)]
pub struct MendStamps {
    /// Name
    name: String,
    /// Mend what is found
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    server: Server,
    /// A JSON object
    #[arg(long)]
    json: bool,
}

/// All partitions together.
#[derive(Debug, Default, Serialize)]
struct Report {
    found: u64,
    mended: u64,
    /// What another look found afterwards.
    left: u64,
    /// The first of what was found.
    records: Vec<FarRecord>,
    /// Nodes that are being filled.
    filling: BTreeSet<String>,
}

impl MendStamps {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        let mut report = walk(&client, &self.name, self.yes).await?;
        report.left = report.found;
        if self.yes && report.found > 0 {
            let after = walk(&client, &self.name, false).await?;
            report.left = after.found;
            report.filling.extend(after.filling);
        }
        let mut output = Output::new();
        if self.json {
            output.json(&report)?
        } else {
            output.bytes(self.text(&report).as_bytes())?
        }
        output.flush()?;
        if self.yes && report.left > 0 {
            Err(Failure::Failed(format!(
                "{} keys are still to be mended: run it again",
                report.left
            )))
        } else {
            Ok(())
        }
    }

    fn text(&self, report: &Report) -> String {
        let mut text = String::new();
        if !report.records.is_empty() {
            text += &table(&report.records).render(false);
            text += "\n";
        }
        let is_more = report.found > report.records.len() as u64;
        text += &match (report.found, self.yes) {
            (0, _) => format!("nothing in {} is stamped too far ahead\n", self.name),
            (found, true) => format!("mended: {} of {found}\n", report.mended),
            (found, false) => format!("found: {found}; --yes mends them\n"),
        };
        if is_more {
            text += &format!("(the first {} are shown)\n", report.records.len());
        }
        for node in &report.filling {
            text += &format!("{node} is being filled: run it again when it is ready\n");
        }
        text
    }
}

async fn walk(client: &Client, name: &str, is_mending: bool) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut from: Option<String> = None;
    loop {
        let part = client
            .mend_stamps(name, from.as_deref(), is_mending)
            .await?;
        report.found += part.found;
        report.mended += part.mended;
        let room = NAMED.saturating_sub(report.records.len());
        report.records.extend(part.records.into_iter().take(room));
        report.filling.extend(part.filling);
        from = part.next;
        if from.is_none() {
            return Ok(report);
        }
    }
}

fn table(records: &[FarRecord]) -> Table {
    let mut table = Table::new(&[
        ("KEY", Align::Left),
        ("WHAT", Align::Left),
        ("AHEAD", Align::Right),
    ]);
    for record in records {
        let key = record.key.as_ref().or(record.key_base64.as_ref());
        table.row(vec![
            Cell::plain(key.map_or("", String::as_str)),
            Cell::plain(if record.is_delete { "delete" } else { "value" }),
            Cell::plain(ahead(record.ahead_ms)),
        ]);
    }
    table
}

/// `70 years`.
fn ahead(ahead_ms: u64) -> String {
    let seconds = ahead_ms / 1_000;
    match seconds {
        0..600 => format!("{seconds} s"),
        600..172_800 => format!("{} min", seconds / 60),
        172_800..63_072_000 => format!("{} days", seconds / 86_400),
        _ => format!("{} years", seconds / 31_556_952),
    }
}
