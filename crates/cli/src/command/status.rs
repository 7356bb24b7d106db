//! `dunlin status`: nodes, keyspaces, and how far each replica is.

use std::time::Duration;

use clap::Args;
use dunlin_client::{KeyspaceDescription, Link, Refill, ShardStatus, Status as Cluster};

use crate::command::keyspace;
use crate::connect::Server;
use crate::failure::Failure;
use crate::members;
use crate::output::{self, Output};
use crate::runtime;
use crate::shortage::shortage;
use crate::table::{Align, Cell, Colour, Table};
use crate::units::{grouped, rounded, rounded_latency};

const EXAMPLES: &str = "\
A node that is a member holds data; a spare one takes requests and holds nothing. While members
change, the change is shown at the end: how far it is, how fast it may go and for whom it waits.

A shard that is filling is new or has lost its data: it takes writes, and answers no reads before
the others have given it what it should hold. Each row of the table of links is one direction of
replication between two shards: the entries the follower has not yet acknowledged, the bytes sent
each second, and percentiles of the time from a send to its acknowledgement.

Examples:
  dunlin status
  dunlin status --watch
  dunlin status --json | jq '[.links[].items_remaining] | add'";

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Status {
    /// Show it again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..))]
    watch: Option<u64>,
    #[command(flatten)]
    server: Server,
    /// One JSON object, with --watch one a line
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Shows it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            let client = self.server.client()?;
            let mut output = Output::new();
            let coloured = output::coloured();
            loop {
                let status = client.status().await;
                match (self.watch, status) {
                    (_, Ok(status)) if self.json => output.json(&status)?,
                    (None, status) => output.bytes(text(&status?, coloured).as_bytes())?,
                    // A watcher wants to see the cluster come back.
                    (Some(_), status) => {
                        let shown = status.map_or_else(
                            |error| format!("{error}\n"),
                            |status| text(&status, coloured),
                        );
                        let clear = if coloured { "\x1b[H\x1b[2J" } else { "" };
                        output.line(format!("{clear}{shown}"))?;
                    }
                }
                output.flush()?;
                let Some(seconds) = self.watch else {
                    return Ok(());
                };
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
        })
    }
}

fn text(status: &Cluster, coloured: bool) -> String {
    [
        members::nodes(status),
        keyspace::table(&status.keyspaces),
        shards(&status.shards),
        links(&status.links),
    ]
    .map(|table| table.render(coloured))
    .join("\n")
        + &members::change(&status.members, coloured)
        + &shortages(status)
        + &troubles(&status.shards)
        + &distrusts(&status.shards)
        + &problems(&status.problems)
}

/// What is wrong with the metadata, by the node that was asked.
fn problems(problems: &[String]) -> String {
    let lines = problems.iter().map(|line| format!("\n{line}\n"));
    lines.collect()
}

/// Keyspaces for whose copies there are not enough members.
fn shortages(status: &Cluster) -> String {
    let members = status.members.members.len();
    let line = |keyspace: &KeyspaceDescription| {
        let replicas = keyspace.settings.replicas.into();
        Some(format!(
            "\n{}\n",
            shortage(&keyspace.name, replicas, members)?
        ))
    };
    status.keyspaces.iter().filter_map(line).collect()
}

/// A table has no room for sentences.
fn troubles(shards: &[ShardStatus]) -> String {
    let line = |shard: &ShardStatus| {
        let trouble = shard
            .trouble
            .clone()
            .or_else(|| Some(filling(shard.refill.as_ref()?)))?;
        Some(format!("\n{}: {trouble}\n", shard.shard))
    };
    shards.iter().filter_map(line).collect()
}

/// Who does not let whom in.
fn distrusts(shards: &[ShardStatus]) -> String {
    let lines = shards.iter().flat_map(|shard| {
        let told = shard.distrusts.iter();
        told.map(|line| format!("\n{} to {line}\n", shard.shard))
    });
    lines.collect()
}

fn filling(refill: &Refill) -> String {
    let reason = &refill.reason;
    if let Some(damage) = &refill.damage {
        return format!("{reason}; {damage}");
    }
    match refill.waits_for.is_empty() {
        true => format!("{reason}; all that it lacks has come"),
        false => format!(
            "{reason}; it answers no reads before {} gave it what it lacks",
            refill.waits_for.join(", ")
        ),
    }
}

fn shards(shards: &[ShardStatus]) -> Table {
    let mut table = Table::new(&[
        ("SHARD", Align::Left),
        ("STATE", Align::Left),
        ("PARTITIONS", Align::Right),
        ("KEYS", Align::Right),
        ("STORE", Align::Right),
        ("WRITES", Align::Right),
        ("READS", Align::Right),
        ("SYNCS", Align::Right),
    ]);
    for shard in shards {
        let state = match (&shard.trouble, shard.refilling) {
            (Some(_), _) => Cell::coloured("failing", Colour::Red),
            (None, true) => Cell::coloured("filling", Colour::Yellow),
            (None, false) => Cell::coloured("serving", Colour::Green),
        };
        table.row(vec![
            Cell::plain(&shard.shard),
            state,
            Cell::plain(shard.partitions),
            Cell::plain(grouped(shard.keys)),
            Cell::plain(rounded(shard.store_bytes as f64)),
            Cell::plain(grouped(shard.writes)),
            Cell::plain(grouped(shard.reads)),
            Cell::plain(grouped(shard.log_syncs)),
        ]);
    }
    table
}

fn links(links: &[Link]) -> Table {
    let mut table = Table::new(&[
        ("FROM", Align::Left),
        ("TO", Align::Left),
        ("STATE", Align::Left),
        ("REMAINING", Align::Right),
        ("PER SECOND", Align::Right),
        ("P50", Align::Right),
        ("P95", Align::Right),
        ("P99", Align::Right),
    ]);
    for link in links {
        let colour = match link.state.as_str() {
            "streaming" => Colour::Green,
            "down" => Colour::Red,
            _ => Colour::Yellow,
        };
        table.row(vec![
            Cell::plain(&link.from),
            Cell::plain(&link.to),
            Cell::coloured(link.state.replace('_', " "), colour),
            Cell::plain(grouped(link.items_remaining)),
            Cell::plain(rounded(link.bytes_per_s)),
            Cell::plain(rounded_latency(link.latency_us_p50)),
            Cell::plain(rounded_latency(link.latency_us_p95)),
            Cell::plain(rounded_latency(link.latency_us_p99)),
        ]);
    }
    table
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
