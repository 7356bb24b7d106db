//! `dunlin stream`: a keyspace's changes as they happen.

use std::ffi::OsString;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use dunlin_client::{Changes, Event, KeyChange, Keyspace, Subscription};
use tokio::time::{Duration, Instant, sleep_until};

use crate::command::cursor::since;
use crate::connect::{DEFAULT_KEYSPACE, Server};
use crate::exec::Exec;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::Stop;
use crate::{key, runtime};

/// How often what was delivered is committed.
const COMMIT_AFTER: Duration = Duration::from_secs(1);
/// How often this consumer renews its lease, where it does not commit.
const RENEW_AFTER: Duration = Duration::from_secs(4);

const EXAMPLES: &str = "\
Prints \"+ KEY\", a tab and the value, or \"- KEY\" for a key that was deleted or has expired. --json prints every
event as the server tells it, snapshots and tokens among them: docs/streams.md says what they mean.

Ends on Ctrl-C, with --limit and --until end, and then says with which token to go on. It goes on by itself
at the next of --server when its node is lost; what came behind the last token is told again then.

Examples:
  dunlin stream default                                  what changes from now on
  dunlin stream default --from beginning --until end     all there is
  dunlin stream orders --prefix paid: --exec ./ship.sh   batches on its standard input
  dunlin stream orders --cursor shipping                 goes on where it was committed last";

/// Arguments of `stream`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Stream {
    /// Keyspace
    #[arg(default_value = DEFAULT_KEYSPACE)]
    keyspace: String,
    /// beginning, now, or the token that an earlier stream ended with
    #[arg(
        long,
        value_name = "PLACE",
        default_value = "now",
        conflicts_with = "cursor"
    )]
    from: String,
    /// By this cursor: from where it is, and what was printed or taken by --exec is committed
    #[arg(long, value_name = "NAME")]
    cursor: Option<String>,
    /// Only keys that begin so
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<OsString>,
    /// No values
    #[arg(long)]
    keys_only: bool,
    /// At most so many changes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Where to end: end, when all is told that was there at the beginning
    #[arg(long, value_name = "WHEN")]
    until: Option<Until>,
    /// Runs this command for each batch, events as lines of JSON on its standard input, a token in the last: exit
    /// code 0 goes on, else it is tried again, six times in all
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    #[command(flatten)]
    server: Server,
    /// One JSON object a line for each event
    #[arg(long)]
    json: bool,
}

/// Where a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Until {
    /// When all is told that was there at the beginning
    End,
}

impl Stream {
    /// Prints changes until it is to end.
    pub fn run(self) -> Result<(), Failure> {
        let wanted = Subscription {
            since: since(&self.from),
            prefix: self.prefix.map(key::bytes),
            keys_only: self.keys_only,
            limit: self.limit,
            until_end: self.until.is_some(),
            cursor: self.cursor.clone(),
        };
        let to = match self.exec {
            Some(command) => To::Exec(Exec::new(command)),
            None => To::Output {
                output: Output::new(),
                json: self.json,
            },
        };
        runtime::block_on(async move {
            let mut stop = Stop::listen()?;
            let keyspace = self.server.client()?.keyspace(&self.keyspace);
            let mut changes = tokio::select! {
                opened = keyspace.changes(wanted) => opened?,
                () = stop.asked() => return Ok(()),
            };
            let mut to = to;
            let mut commits = self.cursor.map(|name| Commits::new(keyspace, name));
            let told = follow(&mut changes, &mut to, &mut commits, &mut stop).await;
            if let Some(commits) = &mut commits {
                // What was not printed comes again; what --exec took is known.
                if told.is_err() && matches!(to, To::Output { .. }) {
                    return told;
                }
                let committed = commits.commit(&changes, to.token(&changes), true).await;
                return told.and(committed);
            }
            if !self.json
                && let Some(token) = to.token(&changes)
            {
                eprintln!("dunlin: go on with --from {token}");
            }
            told
        })
    }
}

/// Where changes go.
enum To {
    Output { output: Output, json: bool },
    Exec(Exec),
}

impl To {
    /// All before it has been taken.
    fn token<'a>(&'a self, changes: &'a Changes) -> Option<&'a str> {
        match self {
            To::Output { .. } => changes.token(),
            To::Exec(exec) => exec.token(),
        }
    }
}

/// What was delivered is committed, now and then.
struct Commits {
    keyspace: Keyspace,
    name: String,
    committed: Option<String>,
    next: Instant,
    renew_at: Instant,
}

impl Commits {
    fn new(keyspace: Keyspace, name: String) -> Commits {
        Commits {
            keyspace,
            name,
            committed: None,
            next: Instant::now() + COMMIT_AFTER,
            renew_at: Instant::now() + RENEW_AFTER,
        }
    }

    /// Keeps the cursor, if that is due: a batch may take long, and nothing may come.
    async fn renew(&mut self, generation: Option<u64>) -> Result<(), Failure> {
        let now = Instant::now();
        let Some(generation) = generation.filter(|_| now >= self.renew_at) else {
            return Ok(());
        };
        self.renew_at = now + RENEW_AFTER;
        match self.keyspace.renew_cursor(&self.name, generation).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_retryable() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_behind(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| self.committed.as_deref() != Some(token))
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Commits; what cannot be now is with the next, unless it is the last.
    async fn commit(
        &mut self,
        changes: &Changes,
        token: Option<&str>,
        is_last: bool,
    ) -> Result<(), Failure> {
        self.next = Instant::now() + COMMIT_AFTER;
        let is_news = |token: &&str| is_last || self.committed.as_deref() != Some(*token);
        let Some(token) = token.filter(is_news) else {
            return Ok(());
        };
        let generation = changes.generation();
        let committed = self
            .keyspace
            .commit_cursor(&self.name, token, generation, is_last);
        match committed.await {
            Ok(_) => {
                self.committed = Some(token.to_owned());
                self.renew_at = Instant::now() + RENEW_AFTER;
                Ok(())
            }
            Err(error) if error.is_retryable() && !is_last => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

async fn follow(
    changes: &mut Changes,
    to: &mut To,
    commits: &mut Option<Commits>,
    stop: &mut Stop,
) -> Result<(), Failure> {
    loop {
        if let Some(commits) = commits
            && commits.is_due()
        {
            if let To::Output { output, .. } = to {
                output.flush()?;
            }
            commits.commit(changes, to.token(changes), false).await?;
        }
        if let Some(commits) = commits {
            commits.renew(changes.generation()).await?;
        }
        let due = commits
            .as_ref()
            .filter(|commits| commits.is_behind(to.token(changes)));
        // Who looks for a server is not disturbed.
        let due = due.filter(|_| changes.is_connected());
        let due = due.map(|commits| commits.next);
        let renew_at = commits.as_ref().map(|commits| commits.renew_at);
        let due = due.into_iter().chain(renew_at).min();
        let next = tokio::select! {
            biased;
            () = stop.asked() => None,
            next = changes.next() => next?,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => continue,
        };
        let Some(event) = next else {
            return match to {
                To::Output { output, .. } => output.flush(),
                To::Exec(_) => Ok(()),
            };
        };
        match to {
            To::Output { output, json } => {
                print(output, *json, &event, changes.line())?;
                if !changes.is_at_hand() {
                    output.flush()?;
                }
            }
            To::Exec(exec) => {
                tokio::select! {
                    biased;
                    () = stop.asked() => return Ok(()),
                    lost = keep(commits, changes.generation()) => return lost,
                    done = exec.take(&event, changes.line()) => done?,
                }
            }
        }
        match event {
            Event::Dropped => {
                return Err(Failure::NotFound("the keyspace was dropped".to_owned()));
            }
            Event::End { reason, .. } if reason == "forbidden" => {
                let line = "the users were changed: this one may not follow the keyspace any more";
                return Err(Failure::Failed(line.to_owned()));
            }
            Event::End { reason, .. } if reason == "taken" => {
                let line = "the cursor was given to another consumer, or set elsewhere";
                return Err(Failure::Failed(line.to_owned()));
            }
            Event::End { reason, .. } if reason == "put_back" => {
                let line = "a node's directory was put back to an earlier state: go on with --from beginning, and forget all keys that do not come again";
                return Err(Failure::Failed(line.to_owned()));
            }
            Event::End { reason, .. } if reason == "unreachable" => {
                let line = "a partition has no majority of replicas, so its end is not known: start more nodes";
                return Err(Failure::Failed(line.to_owned()));
            }
            _ => {}
        }
    }
}

/// Keeps the cursor while a batch is worked on; ends when it is lost.
async fn keep(commits: &mut Option<Commits>, generation: Option<u64>) -> Result<(), Failure> {
    let Some(commits) = commits else {
        return std::future::pending().await;
    };
    loop {
        sleep_until(commits.renew_at).await;
        commits.renew(generation).await?;
    }
}

fn print(output: &mut Output, json: bool, event: &Event, line: &Bytes) -> Result<(), Failure> {
    if json {
        output.bytes(line)?;
        return output.bytes(b"\n");
    }
    let Event::Change(KeyChange {
        key, value, absent, ..
    }) = event
    else {
        return Ok(());
    };
    output.bytes(if absent.is_some() { b"- " } else { b"+ " })?;
    output.bytes(key)?;
    if let Some(value) = value {
        output.bytes(b"\t")?;
        output.bytes(value)?;
    }
    output.bytes(b"\n")
}
