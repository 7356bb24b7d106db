//! Beginning a change of the members, and waiting until it is complete.

use std::time::{Duration, Instant};

use clap::Args;
use dunlin_client::{Change, ChangeMembers, Client, ClientError, Members};

use super::progress::Bar;
use crate::connect::Server;
use crate::failure::Failure;
use crate::members::{self, Progress};
use crate::output::Output;
use crate::signal::Stop;
use crate::units::{grouped, rounded};

/// How often the cluster is asked how far it is.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long no node may answer before the waiting is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all changes are told besides names.
#[derive(Debug, Args)]
pub struct Waiting {
    /// Return as soon as the change has begun
    #[arg(long)]
    no_wait: bool,
    /// No progress
    #[arg(long)]
    quiet: bool,
    /// The members at the end as one JSON object, and no progress
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// How a wait ended.
enum End {
    Complete(Box<Members>),
    Cancelled,
    Stopped,
}

impl Waiting {
    /// Begins the change and, unless told otherwise, waits until it is complete.
    pub async fn change(self, wanted: &ChangeMembers) -> Result<(), Failure> {
        let began = Instant::now();
        let client = self.server.client()?;
        let begun = begin(&client, wanted).await?;
        let Some(change) = begun.change.clone() else {
            let names = members::verb(&wanted.remove, "is", "are").unwrap_or_default();
            return self.tell(&begun, &format!("{names} forgotten"));
        };
        if self.no_wait {
            let (id, who) = (change.id, members::who(&change));
            let line =
                format!("change {id} has begun: {who}; dunlin node list shows how far it is");
            return self.tell(&begun, &line);
        }
        let bar = Bar::new(!self.quiet && !self.json);
        bar.update(&change);
        let client = self.with_every_node(client).await;
        let mut most = Progress::of(&change);
        let end = wait(&client, &change, &bar, &mut most).await;
        bar.finish();
        match end? {
            End::Complete(members) => {
                let line = format!(
                    "change {} is complete after {:.1} s: {}; {} records, {} copied",
                    change.id,
                    began.elapsed().as_secs_f64(),
                    members::verb(&members.members, "holds data", "hold data").unwrap_or_default(),
                    grouped(most.records),
                    rounded(most.bytes as f64),
                );
                self.tell(&members, &line)
            }
            End::Cancelled => Err(Failure::Failed(format!(
                "change {} was cancelled: the members are as before",
                change.id
            ))),
            End::Stopped => Err(Failure::Failed(format!(
                "change {} goes on: dunlin node list shows how far it is, dunlin node cancel gives it up",
                change.id
            ))),
        }
    }

    fn tell(&self, members: &Members, line: &str) -> Result<(), Failure> {
        let mut output = Output::new();
        if self.json {
            output.json(members)?;
        } else if !self.quiet {
            output.line(line)?;
        }
        output.flush()
    }

    /// A client that goes on with the nodes it was not told of when those are away.
    async fn with_every_node(&self, client: Client) -> Client {
        let Ok(status) = client.status().await else {
            return client;
        };
        let told = status.nodes.into_iter().map(|node| node.http);
        let all: Vec<String> = std::iter::once(self.server.server.clone())
            .chain(told)
            .collect();
        let server = Server {
            server: all.join(","),
            ..self.server.clone()
        };
        // An address that makes no sense to a client is no reason to do without the others.
        server.client().unwrap_or(client)
    }
}

/// Begins a change. When the answer is lost, the members tell whether it has begun.
async fn begin(client: &Client, wanted: &ChangeMembers) -> Result<Members, Failure> {
    let lost = match client.change_members(wanted).await {
        Err(lost @ ClientError::Ambiguous { .. }) => lost,
        answer => return Ok(answer?),
    };
    let members = client.members().await?;
    let leave = [&wanted.drain[..], &wanted.remove[..]].concat();
    let is_this = |change: &Change| {
        let same = |a: &[String], b: &[String]| a.iter().all(|name| b.contains(name));
        same(&wanted.add, &change.adds) && same(&leave, &change.takes_out)
    };
    if members.change.as_ref().is_some_and(is_this) {
        Ok(members)
    } else {
        Err(lost.into())
    }
}

/// Waits until the change is no longer under way.
async fn wait(
    client: &Client,
    change: &Change,
    bar: &Bar,
    most: &mut Progress,
) -> Result<End, Failure> {
    let mut stop = Stop::listen()?;
    let mut answered = Instant::now();
    loop {
        let members = tokio::select! {
            members = client.members() => members,
            () = stop.asked() => return Ok(End::Stopped),
        };
        match members {
            Ok(members) => {
                answered = Instant::now();
                match members.change.as_ref().filter(|now| now.id == change.id) {
                    Some(now) => {
                        let progress = Progress::of(now);
                        most.records = most.records.max(progress.records);
                        most.bytes = most.bytes.max(progress.bytes);
                        bar.update(now);
                    }
                    // A node that was away may not know of the change yet.
                    None if members.changes < change.id => {}
                    None => return Ok(end(change, members)),
                }
            }
            Err(error) if error.is_retryable() && answered.elapsed() < PATIENCE => {
                bar.trouble(&error.to_string());
            }
            Err(error) => {
                return Err(Failure::Failed(format!(
                    "change {} goes on, and nobody tells how far it is: {error}",
                    change.id
                )));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stop.asked() => return Ok(End::Stopped),
        }
    }
}

fn end(change: &Change, members: Members) -> End {
    let has = |name: &String| members.members.contains(name);
    let is_complete = change.adds.iter().all(has) && !change.takes_out.iter().any(has);
    if is_complete {
        End::Complete(Box::new(members))
    } else {
        End::Cancelled
    }
}
