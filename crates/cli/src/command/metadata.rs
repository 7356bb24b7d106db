//! `dunlin metadata`: what a node knows of the cluster's metadata, and putting a lost store back.

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use dunlin_client::{Client, Credentials};
use dunlin_metadata::{Report, Topology};
use tokio::time::sleep;

use crate::config::flags::EtcdFlags;
use crate::config::settings::is_etcd;
use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::runtime;
use crate::table::{Align, Cell, Table};

const RESTORE_EXAMPLES: &str = "\
For when etcd has lost its data or was put back from an old copy: /health and dunlin status then
tell that it is refused, and reads and writes go on. The nodes named with --server, and those that
these know of, are asked for what they know; the newest is written to etcd in one go. Nodes take
it at once, without a restart. Nothing is written while etcd is whole or holds another cluster.

Examples:
  dunlin metadata restore --metadata etcd://127.0.0.1:2379 --server http://a:8080,http://b:8080";

/// How long nodes may take to see what was put back.
const SEEN: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);

/// Verbs of `metadata`.
#[derive(Debug, Subcommand)]
pub enum Metadata {
    /// Show what a node knows of the metadata, and what is wrong with the store
    Show(Show),
    /// Put a lost store back from what the nodes know
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore(Restore),
}

/// Arguments of `metadata show`.
#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    server: Server,
    /// A JSON object
    #[arg(long)]
    json: bool,
}

/// Arguments of `metadata restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The store: etcd://HOST:PORT[,HOST:PORT..], or etcds:// for TLS
    #[arg(long, env = "DUNLIN_METADATA", value_name = "URL")]
    metadata: String,
    #[command(flatten)]
    etcd: EtcdFlags,
    #[command(flatten)]
    server: Server,
    /// Go by the nodes that answer, even if they are no majority of the members
    #[arg(long)]
    force: bool,
}

impl Metadata {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                Metadata::Show(show) => show.run().await,
                Metadata::Restore(restore) => restore.run().await,
            }
        })
    }
}

impl Show {
    async fn run(self) -> Result<(), Failure> {
        let report = ask(&self.server.client()?).await?;
        let mut output = Output::new();
        if self.json {
            output.json(&report)?;
        } else {
            output.bytes(text(&report).as_bytes())?;
        }
        output.flush()
    }
}

fn text(report: &Report) -> String {
    let topology = &report.topology;
    let (id, restores) = match &topology.cluster {
        Some(cluster) => (cluster.id.as_str(), cluster.restores),
        None => ("none yet", 0),
    };
    let mut table = Table::new(&[("METADATA", Align::Left), ("AS KNOWN", Align::Left)]);
    for (what, value) in [
        ("by", report.node.clone()),
        ("cluster", id.to_owned()),
        ("put back", format!("{restores} times")),
        ("revision", topology.revision.to_string()),
        ("nodes", topology.nodes.len().to_string()),
        ("members", topology.members.ids.len().to_string()),
        ("keyspaces", topology.keyspaces.len().to_string()),
        ("dropped", topology.dropped.len().to_string()),
    ] {
        table.row(vec![Cell::plain(what), Cell::plain(value)]);
    }
    let problems = report.problems.iter().map(|line| format!("\n{line}\n"));
    table.render(false) + &problems.collect::<String>()
}

impl Restore {
    async fn run(self) -> Result<(), Failure> {
        let place = self.etcd.place(&self.metadata)?;
        if !is_etcd(&self.metadata) {
            return Err(Failure::Usage(format!(
                "metadata {:?} is neither etcd://HOST:PORT nor etcds://HOST:PORT: only a store in etcd can be put back",
                place.shown()
            )));
        }
        // Once, for a password may be typed.
        let credentials = self.server.login.read(&self.server.server)?;
        let credentials = credentials.as_ref();
        let reports = self.gather(credentials).await?;
        let fresh = dunlin_node::fresh_cluster();
        let restored = dunlin_metadata::restore(place, &reports, self.force, &fresh)
            .await
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.metadata)))?;
        let names: Vec<&str> = reports.iter().map(|report| report.node.as_str()).collect();
        let mut output = Output::new();
        output.line(format!(
            "{} is put back from what {} know: {} nodes, {} keyspaces, {} dropped",
            self.metadata,
            names.join(", "),
            restored.nodes.len(),
            restored.keyspaces.len(),
            restored.dropped.len()
        ))?;
        let blind = self.wait(&restored, credentials).await?;
        if !blind.is_empty() {
            return Err(Failure::Failed(format!(
                "{} have not taken it yet: dunlin metadata show tells why",
                blind.join(", ")
            )));
        }
        output.line("they all have taken it")?;
        output.flush()
    }

    /// What the nodes know that were named, and those that they know of.
    async fn gather(&self, credentials: Option<&Credentials>) -> Result<Vec<Report>, Failure> {
        let mut reports: Vec<Report> = Vec::new();
        for server in self.server.server.split(',') {
            // One that is down may be missing, one that is misspelt may not.
            let client = self.server.client_as(server, credentials)?;
            match ask_all(&client).await {
                Ok(report) => reports.push(report),
                Err(failure @ Failure::Usage(_)) => return Err(failure),
                Err(failure) => eprintln!("{failure}"),
            }
        }
        let nodes: Vec<_> = reports
            .iter()
            .flat_map(|report| report.topology.nodes.clone())
            .collect();
        for node in nodes {
            if reports.iter().any(|report| report.node == node.name) {
                continue;
            }
            let Ok(client) = self.server.client_as(&node.http, credentials) else {
                continue;
            };
            // The address may be another's by now.
            if let Ok(report) = ask_all(&client).await
                && report.node == node.name
            {
                reports.push(report);
            }
        }
        reports.sort_by(|a, b| a.node.cmp(&b.node));
        reports.dedup_by(|a, b| a.node == b.node);
        Ok(reports)
    }

    /// Waits until the nodes that were named go by it; answers the addresses of those that do not.
    #[allow(
        clippy::disallowed_methods,
        reason = "the command line is outside the simulation"
    )]
    async fn wait(
        &self,
        restored: &Topology,
        credentials: Option<&Credentials>,
    ) -> Result<Vec<String>, Failure> {
        let until = Instant::now() + SEEN;
        let mut blind = Vec::new();
        for server in self.server.server.split(',') {
            let client = self.server.client_as(server, credentials)?;
            loop {
                let Ok(report) = ask(&client).await else {
                    // It was not there before, either.
                    break;
                };
                if report.topology.cluster == restored.cluster {
                    break;
                }
                if Instant::now() > until {
                    blind.push(server.to_owned());
                    break;
                }
                sleep(PAUSE).await;
            }
        }
        Ok(blind)
    }
}

async fn ask(client: &Client) -> Result<Report, Failure> {
    report(client.metadata().await?)
}

/// With its users, if there are any: a store that is put back without them lets nobody in.
async fn ask_all(client: &Client) -> Result<Report, Failure> {
    let told = ask(client).await?;
    let cluster = told.topology.cluster.as_ref();
    if cluster.is_some_and(|cluster| cluster.closed) {
        report(client.metadata_with_users().await?)
    } else {
        Ok(told)
    }
}

fn report(told: serde_json::Value) -> Result<Report, Failure> {
    serde_json::from_value(told)
        .map_err(|error| Failure::Failed(format!("a node tells what is no metadata: {error}")))
}
