//! The command line: its verbs, and wrong use in one line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::command;
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Begin:
  dunlin up                                  a cluster of three nodes in this terminal
  echo -n wader | dunlin put dunlin          a first put
  dunlin get dunlin                          and its value
  dunlin status                              nodes, and how far each replica is

Exit codes: 0 done, 1 failed, 2 wrong use, 3 not found, 4 another process runs as this node,
5 imported but for malformed records, 70 a bug in dunlin.
Commands that talk to a cluster take --server URL[,URL..] or DUNLIN_SERVER, and where it has users
--user NAME and --password-file FILE, or --token-file FILE.";

/// Dunlin, a replicated key-value store
#[derive(Debug, Parser)]
#[command(name = "dunlin", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// A verb and its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one node of a cluster of processes
    Serve(Box<command::serve::Serve>),
    /// Run a local cluster in this process
    Up(command::up::Up),
    /// Store a value
    Put(command::put::Put),
    /// Read a value
    Get(command::get::Get),
    /// Delete a key
    Delete(command::delete::Delete),
    /// Add a number to the value of a key
    Add(command::add::AddNumber),
    /// Run a script of gets, puts, deletes and checks as transactions
    Txn(command::txn::Txn),
    /// Read a range of keys in order
    Scan(command::scan::Scan),
    /// Follow a keyspace's changes as they happen
    Stream(command::stream::Stream),
    /// Create, list, show, set and drop named cursors of change streams
    #[command(subcommand)]
    Cursor(command::cursor::Cursor),
    /// Show the ranges of transactional keyspaces: their replicas, and whether they are whole
    #[command(subcommand)]
    Range(command::range::Range),
    /// Create, ask, verify and drop views: indexes that a map function makes of a keyspace
    #[command(subcommand)]
    View(command::view::View),
    /// Link keyspaces to other clusters: writes here arrive there
    #[command(subcommand)]
    Link(command::link::Link),
    /// Load a file of records
    Import(command::import::Import),
    /// Create, list, describe, drop and undrop keyspaces
    #[command(subcommand)]
    Keyspace(command::keyspace::Keyspace),
    /// List the nodes; let them take and give away their data
    #[command(subcommand)]
    Node(command::node::Node),
    /// Say who may use the cluster, and for what
    #[command(subcommand)]
    User(command::user::User),
    /// Show what a node knows of the cluster's metadata; put a lost store back
    #[command(subcommand)]
    Metadata(command::metadata::Metadata),
    /// Show nodes, keyspaces, and how far each replica is
    Status(command::status::Status),
    /// Look into logs on disk, Dunlin's or RocksDB's; check and repair them
    #[command(subcommand)]
    Log(command::log::Log),
    /// Copy a RocksDB database while you watch: to a directory, another machine or a keyspace
    Copy(Box<command::copy::Copy>),
    /// Take copies that `dunlin copy` sends
    Receive(command::receive::Receive),
    /// Load the Debian catalogue, kill a node half way, prove that nothing is lost
    Demo(command::demo::Demo),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.run(),
            Command::Up(up) => up.run(),
            Command::Put(put) => put.run(),
            Command::Get(get) => get.run(),
            Command::Delete(delete) => delete.run(),
            Command::Add(add) => add.run(),
            Command::Txn(txn) => txn.run(),
            Command::Scan(scan) => scan.run(),
            Command::Stream(stream) => stream.run(),
            Command::Cursor(cursor) => cursor.run(),
            Command::Range(range) => range.run(),
            Command::View(view) => view.run(),
            Command::Link(link) => link.run(),
            Command::Import(import) => import.run(),
            Command::Keyspace(keyspace) => keyspace.run(),
            Command::Node(node) => node.run(),
            Command::User(user) => user.run(),
            Command::Metadata(metadata) => metadata.run(),
            Command::Status(status) => status.run(),
            Command::Log(log) => log.run(),
            Command::Copy(copy) => copy.run(),
            Command::Receive(receive) => receive.run(),
            Command::Demo(demo) => demo.run(),
        }
    }
}

/// What a command line asks for.
pub enum Parsed {
    /// To do something.
    Command(Box<Command>),
    /// To be told something: help or the version.
    Text(String),
}

/// Reads a command line.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed, Failure> {
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => Ok(Parsed::Command(Box::new(arguments.command))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Parsed::Text(error.render().to_string()))
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                Err(Failure::Usage(
                    "a command is missing (dunlin --help lists them)".to_owned(),
                ))
            }
            _ => Err(Failure::Usage(one_line(&told(&error)))),
        },
    }
}

/// What the library says, without a password that somebody put into an address: the value that was
/// given is repeated in it.
fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value,
        _ => return text,
    };
    match value.rsplit_once('@') {
        Some((_, rest)) if value.contains("://") => text.replace(value, &format!("...@{rest}")),
        _ => text,
    }
}

/// The library explains over several lines; the first paragraph says what is wrong.
fn one_line(text: &str) -> String {
    let paragraph: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let line = paragraph.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let verb: Vec<&str> = usage
        .unwrap_or("dunlin")
        .split_whitespace()
        .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    format!("{line} ({} --help says more)", verb.join(" "))
}
