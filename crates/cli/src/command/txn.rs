//! `dunlin txn`: a script of gets, puts, deletes and checks, as transactions.

use std::io::Read;
use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use dunlin_client::{ClientError, DirectTransaction, Transaction};
use serde_json::Map;

use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::{key, runtime};

const EXAMPLES: &str = "\
A script has a statement a line; all up to commit happen as one, or none of them:
  get KEYSPACE KEY             print the value, as it is in this transaction
  put KEYSPACE KEY VALUE       the value is the rest of the line
  delete KEYSPACE KEY
  check KEYSPACE KEY VALUE     go on only while the key has this value
  check-absent KEYSPACE KEY    go on only while it has none
  commit
Empty lines and those that begin with # are left out. What conflicts with others is run again from its beginning; what
it gets is printed when it has committed.

Example:
  printf 'check bank ann 100\\nput bank ann 90\\nput bank bob 110\\ncommit\\n' | dunlin txn -";

/// Arguments of `txn`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Txn {
    /// The script; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    server: Server,
    /// Without HTTP between: a connection that is upgraded, a request for each get and one for each commit
    #[arg(long)]
    direct: bool,
    /// What is got as JSON objects
    #[arg(long)]
    json: bool,
}

/// A statement, with the number of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    line: usize,
    keyspace: String,
    key: String,
    does: Does,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    Get,
    Put(String),
    Delete,
    Check(Option<String>),
}

/// Statements of each transaction.
fn parse(script: &str) -> Result<Vec<Vec<Statement>>, String> {
    let (mut all, mut one) = (Vec::new(), Vec::new());
    for (number, text) in script.lines().enumerate() {
        let (line, text) = (number + 1, text.trim_start());
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if text.trim_end() == "commit" {
            all.push(std::mem::take(&mut one));
            continue;
        }
        let mut words = text.splitn(4, ' ');
        let verb = words.next().unwrap_or_default();
        let (keyspace, key, rest) = (words.next(), words.next(), words.next());
        let does = match (verb, rest) {
            ("get", None) => Does::Get,
            ("delete", None) => Does::Delete,
            ("check-absent", None) => Does::Check(None),
            ("check", Some(value)) => Does::Check(Some(value.to_owned())),
            ("put", Some(value)) => Does::Put(value.to_owned()),
            ("get" | "delete" | "check-absent", Some(_)) => {
                return Err(format!("line {line}: {verb} takes a keyspace and a key"));
            }
            ("put" | "check", None) => {
                return Err(format!(
                    "line {line}: {verb} takes a keyspace, a key and a value"
                ));
            }
            _ => {
                return Err(format!(
                    "line {line}: {verb:?} is no statement: see dunlin txn --help"
                ));
            }
        };
        match (keyspace, key) {
            (Some(keyspace), Some(key)) if !keyspace.is_empty() && !key.is_empty() => {
                one.push(Statement {
                    line,
                    keyspace: keyspace.to_owned(),
                    key: key.to_owned(),
                    does,
                });
            }
            _ => return Err(format!("line {line}: {verb} takes a keyspace and a key")),
        }
    }
    match one.first() {
        None => Ok(all),
        Some(first) => Err(format!(
            "line {}: no commit follows, so nothing of this would happen",
            first.line
        )),
    }
}

/// What a transaction got, in order; a check that does not hold is an error of its own.
type Got = Vec<(String, String, Option<Bytes>)>;

/// A transaction, whichever way its requests go.
enum Handle {
    Http(Transaction),
    Direct(DirectTransaction),
}

impl Handle {
    async fn get(&self, keyspace: &str, key: &[u8]) -> Result<Option<Bytes>, ClientError> {
        match self {
            Handle::Http(txn) => txn.get(keyspace, key).await,
            Handle::Direct(txn) => txn.get(keyspace, key).await,
        }
    }

    async fn put(&self, keyspace: &str, key: &[u8], value: Bytes) -> Result<(), ClientError> {
        match self {
            Handle::Http(txn) => txn.put(keyspace, key, value).await,
            Handle::Direct(txn) => txn.put(keyspace, key, value),
        }
    }

    async fn delete(&self, keyspace: &str, key: &[u8]) -> Result<(), ClientError> {
        match self {
            Handle::Http(txn) => txn.delete(keyspace, key).await,
            Handle::Direct(txn) => txn.delete(keyspace, key),
        }
    }
}

async fn carry_out(txn: Handle, statements: Vec<Statement>) -> Result<Got, ClientError> {
    let mut got = Vec::new();
    for statement in statements {
        let (keyspace, key) = (&*statement.keyspace, statement.key.as_bytes());
        match statement.does {
            Does::Get => {
                let value = txn.get(keyspace, key).await?;
                got.push((statement.keyspace, statement.key, value));
            }
            Does::Put(value) => txn.put(keyspace, key, value.into()).await?,
            Does::Delete => txn.delete(keyspace, key).await?,
            Does::Check(expected) => {
                let found = txn.get(keyspace, key).await?;
                if found.as_deref() != expected.as_deref().map(str::as_bytes) {
                    let there = match found {
                        Some(value) => format!("its value is \"{}\"", value.escape_ascii()),
                        None => "it has no value".to_owned(),
                    };
                    return Err(ClientError::Precondition(format!(
                        "line {}: the check of {} does not hold: {there}; nothing of this transaction happened",
                        statement.line,
                        key::shown(key)
                    )));
                }
            }
        }
    }
    Ok(got)
}

impl Txn {
    /// Runs the script, one transaction after the other.
    pub fn run(self) -> Result<(), Failure> {
        let script = match self.file.to_str() {
            Some("-") => {
                let mut script = String::new();
                let read = std::io::stdin().read_to_string(&mut script);
                read.map(|_| script)
            }
            _ => std::fs::read_to_string(&self.file),
        };
        let script = script.map_err(|error| Failure::file(&self.file, &error))?;
        let transactions = parse(&script).map_err(Failure::Usage)?;
        runtime::block_on(async move {
            let client = self.server.client()?;
            let mut output = Output::new();
            let direct = self.direct.then(|| client.direct());
            for statements in transactions {
                let again = || statements.clone();
                let done = match &direct {
                    Some(direct) => {
                        let run = async |txn| carry_out(Handle::Direct(txn), again()).await;
                        direct.transact(run).await?
                    }
                    None => {
                        let run = |txn| carry_out(Handle::Http(txn), again());
                        client.transact(run).await?
                    }
                };
                for (keyspace, name, value) in done {
                    if self.json {
                        let mut object = Map::new();
                        object.insert("keyspace".to_owned(), keyspace.into());
                        object.insert("key".to_owned(), name.into());
                        if let Some(value) = &value {
                            key::insert(&mut object, "value", value);
                        }
                        output.json(&object)?;
                    } else {
                        match value {
                            Some(value) => output.value(&[&value[..], b"\n"].concat())?,
                            None => eprintln!("dunlin: {keyspace} {name} has no value"),
                        }
                    }
                }
            }
            output.flush()
        })
    }
}

#[cfg(test)]
#[path = "txn_tests.rs"]
mod tests;
