//! `dunlin node`: which nodes hold data.

mod change;
mod progress;

use clap::{Args, Subcommand};
use dunlin_client::ChangeMembers;

use crate::connect::Server;
use crate::failure::Failure;
use crate::members;
use crate::output::{self, Output};
use crate::runtime;
use change::Waiting;

const EXAMPLES: &str = "\
A node that holds data is a member. Others are spare: they take requests, and hold nothing. The
first nodes of a cluster are members by themselves; those that come later are added:

  dunlin serve --name n4 ...                     start it: it is spare
  dunlin node add n4                             it takes over its share of the data
  dunlin node drain n1                           n1 gives its share away, and can be stopped
  dunlin node remove n2 --replace-with n5        n2 is dead for good: its copies are made anew

Clients read and write all the while; copies slow down when they wait too long (--move-latency of
`dunlin serve`). One change at a time. A node that stops goes on where it was when it is back.";

/// Verbs of `node`.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Node {
    /// List the nodes, and how far a change is
    #[command(visible_alias = "ls")]
    List(List),
    /// Let spare nodes take over their share of the data
    Add(Add),
    /// Let living nodes give their data away; afterwards they are spare
    Drain(Drain),
    /// Forget nodes that are gone for good; other nodes make their copies anew
    Remove(Remove),
    /// Give the change under way up; possible until the new replicas are read
    Cancel(Cancel),
}

/// Arguments of `node list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    server: Server,
    /// A JSON object
    #[arg(long)]
    json: bool,
}

/// Arguments of `node add`.
#[derive(Debug, Args)]
pub struct Add {
    /// Names of the nodes
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    waiting: Waiting,
}

/// Arguments of `node drain`.
#[derive(Debug, Args)]
pub struct Drain {
    /// Names of the nodes
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    waiting: Waiting,
}

/// Arguments of `node remove`.
#[derive(Debug, Args)]
pub struct Remove {
    /// Names of the nodes
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Spare nodes to be added in the same change, may be repeated
    #[arg(long, value_name = "NAME")]
    replace_with: Vec<String>,
    #[command(flatten)]
    waiting: Waiting,
}

/// Arguments of `node cancel`.
#[derive(Debug, Args)]
pub struct Cancel {
    #[command(flatten)]
    server: Server,
}

impl Node {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                Node::List(list) => list.run().await,
                Node::Add(Add { names, waiting }) => {
                    let wanted = ChangeMembers {
                        add: names,
                        ..ChangeMembers::default()
                    };
                    waiting.change(&wanted).await
                }
                Node::Drain(Drain { names, waiting }) => {
                    let wanted = ChangeMembers {
                        drain: names,
                        ..ChangeMembers::default()
                    };
                    waiting.change(&wanted).await
                }
                Node::Remove(remove) => {
                    let wanted = ChangeMembers {
                        remove: remove.names,
                        add: remove.replace_with,
                        ..ChangeMembers::default()
                    };
                    remove.waiting.change(&wanted).await
                }
                Node::Cancel(cancel) => Ok(cancel.server.client()?.cancel_change().await?),
            }
        })
    }
}

impl List {
    async fn run(self) -> Result<(), Failure> {
        let status = self.server.client()?.status().await?;
        let mut output = Output::new();
        if self.json {
            output.json(&status.members)?;
            return output.flush();
        }
        let coloured = output::coloured();
        output.bytes(members::nodes(&status).render(coloured).as_bytes())?;
        output.bytes(members::change(&status.members, coloured).as_bytes())?;
        output.flush()
    }
}
