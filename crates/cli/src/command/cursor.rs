//! `dunlin cursor`: places in a keyspace's changes that the cluster keeps.

use clap::{Args, Subcommand};
use dunlin_client::{Cursor as Kept, Keyspace, Since};

use crate::connect::{DEFAULT_KEYSPACE, Server};
use crate::failure::Failure;
use crate::output::Output;
use crate::runtime;

const EXAMPLES: &str = "\
A consumer that keeps no token reads by a cursor: the cluster remembers up to where it has committed, and lets one
consumer read by it at a time.

Examples:
  dunlin cursor create invoices --keyspace orders          from the beginning
  dunlin stream orders --cursor invoices --exec ./bill.sh  commits each batch that the command took
  dunlin cursor seek invoices --keyspace orders --from now";

/// What is done with cursors.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Cursor {
    /// Make one
    Create(Set),
    /// List those of a keyspace
    List(Of),
    /// Show one
    Show(Named),
    /// Set one elsewhere; who reads by it ends
    Seek(Set),
    /// Drop one
    Drop(Named),
}

/// Which keyspace.
#[derive(Debug, Args)]
pub struct Of {
    /// Keyspace
    #[arg(long, short = 'k', env = "DUNLIN_KEYSPACE", value_name = "NAME", default_value = DEFAULT_KEYSPACE)]
    keyspace: String,
    #[command(flatten)]
    server: Server,
    /// JSON instead of a line for each
    #[arg(long)]
    json: bool,
}

/// Which cursor.
#[derive(Debug, Args)]
pub struct Named {
    /// Cursor
    name: String,
    #[command(flatten)]
    of: Of,
}

/// Which cursor, and where it is to be.
#[derive(Debug, Args)]
pub struct Set {
    /// beginning, now or a token
    #[arg(long, value_name = "PLACE", default_value = "beginning")]
    from: String,
    #[command(flatten)]
    cursor: Named,
}

impl Cursor {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            let (kept, json) = match self {
                Cursor::Create(set) => {
                    let since = since(&set.from);
                    let Named { name, of } = set.cursor;
                    let made = of.keyspace()?.create_cursor(&name, &since).await?;
                    (vec![made], of.json)
                }
                Cursor::Seek(set) => {
                    let since = since(&set.from);
                    let Named { name, of } = set.cursor;
                    let sought = of.keyspace()?.seek_cursor(&name, &since).await?;
                    (vec![sought], of.json)
                }
                Cursor::Show(Named { name, of }) => {
                    (vec![of.keyspace()?.cursor(&name).await?], of.json)
                }
                Cursor::List(of) => (of.keyspace()?.cursors().await?, of.json),
                Cursor::Drop(Named { name, of }) => {
                    of.keyspace()?.drop_cursor(&name).await?;
                    (Vec::new(), of.json)
                }
            };
            print(&kept, json)
        })
    }
}

impl Of {
    fn keyspace(&self) -> Result<Keyspace, Failure> {
        Ok(self.server.client()?.keyspace(&self.keyspace))
    }
}

/// Where a cursor or a stream begins, as it is given.
pub fn since(from: &str) -> Since {
    match from {
        "beginning" => Since::Beginning,
        "now" => Since::Now,
        token => Since::Token(token.to_owned()),
    }
}

fn print(cursors: &[Kept], json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    for cursor in cursors {
        if json {
            output.json(cursor)?;
            continue;
        }
        let held = match (&cursor.damaged, &cursor.holder) {
            (Some(why), _) => format!("damaged: drop it ({why})"),
            (None, Some(holder)) => format!("read by {holder}"),
            (None, None) => "free".to_owned(),
        };
        let Kept { name, token, .. } = cursor;
        output.line(format!("{name}  {held}  {token}"))?;
    }
    output.flush()
}
