//! `dunlin keyspace`: create, list, describe, alter, drop, undrop, mend-stamps.

mod alter;
mod drop;
mod mend_stamps;

use clap::{Args, Subcommand};
use dunlin_client::{CreateKeyspace, KeyspaceDescription, Retention};
use dunlin_metadata::{PARTITIONS_MAX, REPLICAS_MAX, Sync};

use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::runtime;
use crate::shortage::shortage;
use crate::table::{Align, Cell, Table};
use alter::{Alter, Bound, retained};
use drop::DropKeyspace;
use mend_stamps::MendStamps;

const CREATE_EXAMPLES: &str = "\
Examples:
  dunlin keyspace create birds
  dunlin keyspace create cache --replicas 2 --sync never
  dunlin keyspace create accounts --mode transactional
  dunlin put --keyspace birds dunlin 'a small wader'

--sync says when an acknowledged write is on disk:
  always          before the acknowledgement, many writes sharing one sync: survives power loss
  interval:100ms  at most so long after it: power loss on all replicas may take that much
  never           when the operating system likes: survives a crash of the process only";

/// Verbs of `keyspace`.
#[derive(Debug, Subcommand)]
pub enum Keyspace {
    /// Create a keyspace
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// List the keyspaces
    #[command(visible_alias = "ls")]
    List(List),
    /// Show one keyspace's settings
    Describe(Describe),
    /// Set how much of the log is kept for who follows a keyspace
    #[command(after_help = alter::EXAMPLES)]
    Alter(Alter),
    /// Drop a keyspace; its data goes after a delay (--drop-delay of `dunlin serve`)
    #[command(after_help = drop::EXAMPLES)]
    Drop(DropKeyspace),
    /// Take back a drop whose delay is not over
    Undrop(Undrop),
    /// Make keys writable again that a clock far ahead has stamped
    #[command(after_help = mend_stamps::EXAMPLES)]
    MendStamps(MendStamps),
}

/// Arguments of `keyspace create`.
#[derive(Debug, Args)]
pub struct Create {
    /// Name
    name: String,
    /// How replicas agree: quorum, where the newest write wins, or transactional, where all agree on an order
    /// first [default: quorum]
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// Copies of each key, 1 to 16, of a transactional keyspace 1 or 3 [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(REPLICAS_MAX)))]
    replicas: Option<u16>,
    /// Slices the keys are spread in, a power of two from 1 to 4096 [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(PARTITIONS_MAX)))]
    partitions: Option<u16>,
    /// When an acknowledged write is on disk: always, interval:100ms, never [default: always]
    #[arg(long, value_name = "POLICY")]
    sync: Option<Sync>,
    /// Seconds a delete is remembered [default: 864000]
    #[arg(long, value_name = "SECONDS")]
    tombstone_grace: Option<u64>,
    /// Keys at which a transactional keyspace is cut into ranges, ascending, as in 3,6: each range has a leader of
    /// its own
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    split_at: Vec<String>,
    /// Log that is kept for who follows it, needed or not: a size, an age, or both, as in 1GiB,1h
    #[arg(long, value_name = "BOUND")]
    retain_min: Option<Bound>,
    /// Log that who follows it can hold back at most, in the same form
    #[arg(long, value_name = "BOUND")]
    retain_max: Option<Bound>,
    #[command(flatten)]
    server: Server,
}

/// How the replicas of a keyspace agree.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum ModeName {
    /// The newest write wins
    Quorum,
    /// All agree on an order first
    Transactional,
}

impl ModeName {
    fn name(self) -> String {
        match self {
            ModeName::Quorum => "quorum".to_owned(),
            ModeName::Transactional => "transactional".to_owned(),
        }
    }
}

/// Arguments of `keyspace list`.
#[derive(Debug, Args)]
pub struct List {
    /// Those that were dropped
    #[arg(long)]
    dropped: bool,
    #[command(flatten)]
    server: Server,
    /// A JSON array
    #[arg(long)]
    json: bool,
}

/// Arguments of `keyspace describe`.
#[derive(Debug, Args)]
pub struct Describe {
    /// Name
    name: String,
    #[command(flatten)]
    server: Server,
    /// A JSON object
    #[arg(long)]
    json: bool,
}

/// Arguments of `keyspace undrop`.
#[derive(Debug, Args)]
pub struct Undrop {
    /// Name
    name: String,
    #[command(flatten)]
    server: Server,
}

impl Keyspace {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                Keyspace::Create(create) => create.run().await,
                Keyspace::List(list) => list.run().await,
                Keyspace::Describe(describe) => describe.run().await,
                Keyspace::Alter(alter) => alter.run().await,
                Keyspace::MendStamps(mend) => mend.run().await,
                Keyspace::Drop(drop) => drop.run().await,
                Keyspace::Undrop(back) => {
                    Ok(back.server.client()?.undrop_keyspace(&back.name).await?)
                }
            }
        })
    }
}

impl Create {
    async fn run(self) -> Result<(), Failure> {
        let wanted = CreateKeyspace {
            name: self.name,
            mode: self.mode.map(ModeName::name),
            replicas: self.replicas,
            partitions: self.partitions,
            sync: self.sync.map(|sync| sync.to_string()),
            tombstone_grace_s: self.tombstone_grace,
            split_at: self.split_at,
            retention: retained(Retention::default(), self.retain_min, self.retain_max),
        };
        let client = self.server.client()?;
        let made = client.create_keyspace(&wanted).await?;
        // It is made; whoever cannot say how many members there are need not know.
        if let Ok(members) = client.members().await
            && let Some(line) = shortage(
                &made.name,
                made.settings.replicas.into(),
                members.members.len(),
            )
        {
            eprintln!("dunlin: {line}");
        }
        Ok(())
    }
}

impl List {
    async fn run(self) -> Result<(), Failure> {
        if self.dropped {
            return self.dropped().await;
        }
        let keyspaces = self.server.client()?.keyspaces().await?;
        let mut output = Output::new();
        if self.json {
            output.json(&keyspaces)?;
        } else {
            output.bytes(table(&keyspaces).render(false).as_bytes())?;
        }
        output.flush()
    }
}

impl List {
    async fn dropped(self) -> Result<(), Failure> {
        let dropped = self.server.client()?.dropped_keyspaces().await?;
        let mut output = Output::new();
        if self.json {
            output.json(&dropped)?;
            return output.flush();
        }
        let mut table = Table::new(&[
            ("DROPPED", Align::Left),
            ("ID", Align::Right),
            ("DATA", Align::Left),
        ]);
        for each in dropped {
            table.row(vec![
                Cell::plain(&each.keyspace.name),
                Cell::plain(each.keyspace.id),
                Cell::plain(if each.purged {
                    "gone"
                } else {
                    "kept for undrop"
                }),
            ]);
        }
        output.bytes(table.render(false).as_bytes())?;
        output.flush()
    }
}

impl Describe {
    async fn run(self) -> Result<(), Failure> {
        let keyspace = self.server.client()?.describe_keyspace(&self.name).await?;
        let keyspace = keyspace
            .ok_or_else(|| Failure::NotFound(format!("keyspace {:?} does not exist", self.name)))?;
        let mut output = Output::new();
        if self.json {
            output.json(&keyspace)?;
        } else {
            output.bytes(table(&[keyspace]).render(false).as_bytes())?;
        }
        output.flush()
    }
}

/// Keyspaces as a table.
pub fn table(keyspaces: &[KeyspaceDescription]) -> Table {
    let mut table = Table::new(&[
        ("KEYSPACE", Align::Left),
        ("ID", Align::Right),
        ("MODE", Align::Left),
        ("REPLICAS", Align::Right),
        ("PARTITIONS", Align::Right),
        ("SYNC", Align::Left),
        ("TOMBSTONES KEPT", Align::Right),
        ("LOG KEPT", Align::Left),
    ]);
    for keyspace in keyspaces {
        // What a transactional keyspace does not have.
        let of_quorum = |told: String| match keyspace.settings.mode.as_str() {
            "quorum" => told,
            _ => "-".to_owned(),
        };
        table.row(vec![
            Cell::plain(&keyspace.name),
            Cell::plain(keyspace.id),
            Cell::plain(&keyspace.settings.mode),
            Cell::plain(keyspace.settings.replicas),
            Cell::plain(of_quorum(keyspace.settings.partitions.to_string())),
            Cell::plain(&keyspace.settings.sync),
            Cell::plain(of_quorum(format!(
                "{} s",
                keyspace.settings.tombstone_grace_s
            ))),
            Cell::plain(of_quorum(alter::told(&keyspace.retention))),
        ]);
    }
    table
}
