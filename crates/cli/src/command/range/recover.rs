//! `dunlin range recover`: a range that has lost most of its replicas begins again with one of them.

use clap::Args;
use dunlin_client::{Client, LeftReplica, RangeBeginning, RangeRemains, RecoverRange, Status};

use super::target::{leader, wait};
use crate::connect::Server;
use crate::failure::Failure;
use crate::output::{Output, coloured};
use crate::table::{Align, Cell, Table};
use crate::units::grouped;

pub(super) const EXAMPLES: &str = "\
A range whose replicas are lost but for a minority has no leader, and cannot heal: the remaining ones may lack writes that
were acknowledged. Without --accept-data-loss the command changes nothing, and lists the remaining replicas.

It is refused as long as a node does not answer: start it, also with an empty directory if its disk is lost, or declare
it dead with dunlin node remove. So nobody can come back and lead beside the replica that is kept.

The range has all writes of the kept replica afterwards, and versions go on growing. Other acknowledged writes are lost;
writes whose answer was unknown may appear; transactions over several ranges may be there by half.

Examples:
  dunlin range recover bank 0                                      the remaining replicas, and the one that has the most
  dunlin range recover bank 0 --keep n1 --accept-data-loss         it begins again with that of n1
  dunlin range recover _oracle 0 --new --accept-data-loss          every replica is lost: it begins anew, without data";

/// Arguments of `range recover`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Recover {
    /// Keyspace
    keyspace: String,
    /// Number of the range, as dunlin range list shows it
    range: u64,
    /// Name of the node whose replica is kept; without it the one that has the most is proposed
    #[arg(long, value_name = "NODE", conflicts_with = "new")]
    keep: Option<String>,
    /// Begin anew, without any data: refused where a replica with data is left
    #[arg(long)]
    new: bool,
    /// Do it, though acknowledged writes may be lost
    #[arg(long)]
    accept_data_loss: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

impl Recover {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.server.client()?;
        if !self.accept_data_loss {
            return self.show(&client).await;
        }
        if self.keep.is_none() && !self.new {
            let why = "--accept-data-loss needs --keep NODE, or --new where no replica is left";
            return Err(Failure::Usage(why.to_owned()));
        }
        let wish = RecoverRange {
            keep: self.keep.clone(),
            new: self.new,
            accept_data_loss: true,
        };
        let answer = client
            .recover_range(&self.keyspace, self.range, &wish)
            .await?;
        self.wait(&client, &answer).await?;
        let mut output = Output::new();
        if self.json {
            output.json(&answer)?;
        } else {
            output.line(format!(
                "range {}/{} is led by {} again; other replicas follow by themselves: see dunlin range list",
                self.keyspace, self.range, answer.at
            ))?;
        }
        output.flush()
    }

    /// Waits until the range has a leader that knows that it began again.
    async fn wait(&self, client: &Client, answer: &RangeBeginning) -> Result<(), Failure> {
        let (keyspace, range) = (&*self.keyspace, self.range);
        let leads = |status: &Status| {
            leader(status, (keyspace, range)).is_some_and(|leader| leader.config >= answer.config)
        };
        let doing = |_: &Status| vec![format!("{keyspace}/{range}: {} begins to lead", answer.at)];
        wait(client, doing, leads, |_| None).await
    }

    async fn show(&self, client: &Client) -> Result<(), Failure> {
        let left = client.range_remains(&self.keyspace, self.range).await?;
        let mut output = Output::new();
        if self.json {
            output.json(&left)?;
        } else {
            let text = self.text(&left, coloured());
            output.bytes(text.as_bytes())?;
        }
        output.flush()
    }

    /// The remaining replicas, and the next command.
    fn text(&self, left: &RangeRemains, coloured: bool) -> String {
        let name = format!("{}/{}", self.keyspace, self.range);
        let next = match (&left.refused, &left.keep, &self.keep) {
            (Some(why), ..) => format!("{name} cannot be recovered now: {why}\n"),
            (None, None, _) => format!(
                "No replica of {name} with data is left. Add --new --accept-data-loss to begin anew, without data.\n"
            ),
            (None, Some(best), keep) => {
                let has_less = keep.as_ref().filter(|keep| *keep != best);
                let note = has_less.map_or(String::new(), |_| {
                    format!("The replica on {best} has the most.\n")
                });
                let keep = keep.as_ref().unwrap_or(best);
                format!(
                    "{note}Nothing was changed. Add --keep {keep} --accept-data-loss to begin again with the replica on \
                     {keep}: acknowledged writes that it does not have are lost.\n"
                )
            }
        };
        if left.replicas.is_empty() {
            return next;
        }
        format!("{}\n{next}", table(&left.replicas).render(coloured))
    }
}

fn table(replicas: &[LeftReplica]) -> Table {
    let mut table = Table::new(&[
        ("REPLICA", Align::Left),
        ("STATE", Align::Left),
        ("TERM", Align::Right),
        ("LAST ENTRY", Align::Right),
        ("APPLIED", Align::Right),
    ]);
    for replica in replicas {
        table.row(vec![
            Cell::plain(&replica.at),
            Cell::plain(&replica.state),
            Cell::plain(replica.term),
            Cell::plain(grouped(replica.last)),
            Cell::plain(grouped(replica.applied)),
        ]);
    }
    table
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
