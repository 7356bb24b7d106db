//! A keyspace's changes as they happen, at whichever node can be reached.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::call::{Call, Servers};
use crate::error::ClientError;
use crate::lines::Lines;

/// Nobody who serves the stream is looked for longer than this at a time.
const PATIENCE: Duration = Duration::from_secs(60);
/// A cursor is free when its consumer has given no sign for so long, and a little.
const LEASE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// From where on changes are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Since {
    /// All there is, then what comes.
    Beginning,
    /// What comes from now on.
    #[default]
    Now,
    /// Behind what was told with this token.
    Token(String),
}

/// Which changes are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// From where on.
    pub since: Since,
    /// Only keys that begin with this.
    pub prefix: Option<Bytes>,
    /// No values.
    pub keys_only: bool,
    /// At most so many changes.
    pub limit: Option<u64>,
    /// Ends when all has been told that a majority had at the beginning.
    pub until_end: bool,
    /// By this cursor, which says from where on. What is done with is committed with
    /// [`crate::Keyspace::commit_cursor`] and [`Changes::generation`].
    pub cursor: Option<String>,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A key has another value, or none any more.
    Change(Change),
    /// Stored records of a partition follow.
    SnapshotBegins {
        /// Which.
        partition: u16,
        /// What is not named is gone: forget it, and store the token in the same step.
        is_complete: bool,
        /// Where it goes on from here.
        token: Option<String>,
    },
    /// That was all of them.
    SnapshotEnds {
        /// Of which partition.
        partition: u16,
        /// Where it goes on behind all that was told.
        token: Option<String>,
    },
    /// All before has been told that the token says.
    Progress {
        /// Where it goes on; none as long as not all partitions have begun.
        token: Option<String>,
    },
    /// The first, of a stream by a cursor: it has it.
    Cursor {
        /// Its name.
        name: String,
        /// Which consumer this is.
        generation: u64,
    },
    /// Partitions come from another replica from now on.
    Moved {
        /// Which.
        partitions: Vec<u16>,
        /// `NODE/SHARD`.
        to: String,
    },
    /// The keyspace was dropped. The last.
    Dropped,
    /// The last: why, and where it goes on.
    End {
        /// `limit`, `until`, `forbidden`, `unreachable`, `taken`: the cursor is another's, or `put_back`: a directory was
        /// put back to an earlier state, and all is to begin anew.
        reason: String,
        /// Where it goes on.
        token: Option<String>,
    },
}

/// A change of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: Bytes,
    /// Its value; none where it has none any more, or values are not wanted.
    pub value: Option<Bytes>,
    /// Why it has no value any more: `deleted` or `expired`.
    pub absent: Option<String>,
    /// Its version, as in [`crate::Value::version`].
    pub version: String,
    /// Of two changes of one key the greater, compared as text, is the newer. The same whenever and wherever
    /// this change is told.
    pub rank: String,
    /// The partition of its key.
    pub partition: u16,
    /// When its value goes by itself, in milliseconds since 1970.
    pub expires_at_ms: Option<u64>,
}

impl Event {
    /// The token beside it, if it has one.
    pub fn token(&self) -> Option<&str> {
        match self {
            Event::SnapshotBegins { token, .. }
            | Event::SnapshotEnds { token, .. }
            | Event::Progress { token }
            | Event::End { token, .. } => token.as_deref(),
            Event::Change(_) | Event::Cursor { .. } | Event::Moved { .. } | Event::Dropped => None,
        }
    }
}

/// A stream of changes; dropping it ends it. When its server is lost it goes on at another: what was told
/// behind the last token comes again.
pub struct Changes {
    servers: Arc<Servers>,
    path: String,
    wanted: Subscription,
    lines: Option<Lines>,
    told: u64,
    token: Option<String>,
    generation: Option<u64>,
    line: Bytes,
    has_ended: bool,
}

impl Changes {
    pub(crate) async fn open(
        servers: Arc<Servers>,
        path: String,
        wanted: Subscription,
    ) -> Result<Changes, ClientError> {
        let mut changes = Changes {
            servers,
            path,
            token: match &wanted.since {
                Since::Token(token) => Some(token.clone()),
                _ => None,
            },
            wanted,
            lines: None,
            told: 0,
            generation: None,
            line: Bytes::new(),
            has_ended: false,
        };
        changes.connect().await?;
        Ok(changes)
    }

    /// What is told next; `None` behind the last. Waits for as long as nothing happens.
    ///
    /// # Errors
    /// See [`ClientError`]: when no server can serve it for a minute, or none ever will.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        let begun = Instant::now();
        while !self.has_ended {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                None => self.connect().await?,
            };
            let line = match lines.next().await {
                Ok(Some(line)) => line.freeze(),
                Ok(None) => {
                    let server = lines.answer.server().to_owned();
                    let reason = "the stream broke off".to_owned();
                    let error = ClientError::Interrupted { server, reason };
                    self.go_on(error, begun).await?;
                    continue;
                }
                Err(error) => {
                    self.go_on(error, begun).await?;
                    continue;
                }
            };
            let event = read(&line).map_err(|reason| lines.answer.protocol(reason))?;
            self.line = line;
            if let Some(token) = event.token() {
                self.token = Some(token.to_owned());
            }
            match &event {
                Event::Change(_) => self.told += 1,
                Event::Cursor { generation, .. } => self.generation = Some(*generation),
                // Another server may reach a majority.
                Event::End { reason, .. }
                    if reason == "stopping"
                        || reason == "unreachable" && !self.wanted.until_end =>
                {
                    self.go_elsewhere();
                    sleep(PAUSE).await;
                    continue;
                }
                Event::End { .. } | Event::Dropped => self.has_ended = true,
                _ => {}
            }
            return Ok(Some(event));
        }
        Ok(None)
    }

    /// The line that said what [`Changes::next`] gave last, as JSON.
    pub fn line(&self) -> &Bytes {
        &self.line
    }

    /// Where a later stream goes on: all before it has been given by [`Changes::next`].
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Which consumer of its cursor this is, if it goes by one.
    pub fn generation(&self) -> Option<u64> {
        self.generation
    }

    /// Whether a server is being followed, or is to be looked for first.
    pub fn is_connected(&self) -> bool {
        self.lines.is_some()
    }

    /// Whether the next event has come already.
    pub fn is_at_hand(&self) -> bool {
        self.lines.as_ref().is_some_and(Lines::is_at_hand)
    }

    /// Goes on at another server, unless no server will do, or none has told anything since it was asked for, long ago.
    async fn go_on(&mut self, error: ClientError, begun: Instant) -> Result<(), ClientError> {
        if !error.is_retryable() || begun.elapsed() > PATIENCE {
            return Err(error);
        }
        self.go_elsewhere();
        sleep(PAUSE).await;
        Ok(())
    }

    fn go_elsewhere(&mut self) {
        self.lines = None;
        self.servers.prefer_next();
    }

    async fn connect(&mut self) -> Result<&mut Lines, ClientError> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            match Lines::open(&self.servers, &self.call()).await {
                Ok(lines) => return Ok(self.lines.insert(lines)),
                // One that had the cursor may not be known to be gone yet: it is this very one.
                Err(ClientError::Refused { status: 409, .. })
                    if self.generation.is_some() && begun.elapsed() < LEASE => {}
                Err(error) if !error.is_retryable() || begun.elapsed() > PATIENCE => {
                    return Err(error);
                }
                Err(_) => self.servers.prefer_next(),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn call(&self) -> Call {
        let mut call = Call::new(Method::GET, self.path.clone());
        let since = match (&self.token, &self.wanted.since) {
            (Some(token), _) => token,
            (None, Since::Beginning) => "beginning",
            (None, _) => "now",
        };
        match &self.wanted.cursor {
            Some(cursor) => {
                call.parameter("cursor", cursor);
                if let Some(generation) = self.generation {
                    call.parameter("generation", &generation.to_string());
                }
            }
            None => call.parameter("from", since),
        }
        if let Some(prefix) = &self.wanted.prefix {
            call.parameter_bytes("prefix", prefix);
        }
        if self.wanted.keys_only {
            call.parameter("keys_only", "true");
        }
        if let Some(limit) = self.wanted.limit {
            let left = limit.saturating_sub(self.told).max(1);
            call.parameter("limit", &left.to_string());
        }
        if self.wanted.until_end {
            call.parameter("until", "end");
        }
        call
    }
}

fn read(line: &[u8]) -> Result<Event, String> {
    /// Borrows what needs no unescaping: a value may be large.
    #[derive(Deserialize)]
    struct Line<'a> {
        event: &'a str,
        key: Option<String>,
        #[serde(borrow)]
        key_base64: Option<Cow<'a, str>>,
        value: Option<String>,
        #[serde(borrow)]
        value_base64: Option<Cow<'a, str>>,
        absent: Option<String>,
        #[serde(default)]
        version: String,
        #[serde(default)]
        rank: String,
        #[serde(default)]
        partition: u16,
        expires_at_ms: Option<u64>,
        token: Option<String>,
        scope: Option<&'a str>,
        #[serde(default)]
        partitions: Vec<u16>,
        #[serde(default)]
        to: String,
        #[serde(default)]
        reason: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        generation: u64,
    }
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let either = |name: &str, text: Option<String>, coded: Option<Cow<'_, str>>| match coded {
        None => Ok(text.map(Bytes::from)),
        Some(coded) => STANDARD
            .decode(&*coded)
            .map(|bytes| Some(Bytes::from(bytes)))
            .map_err(|error| format!("{name}_base64: {error}")),
    };
    let (partition, token) = (line.partition, line.token);
    Ok(match line.event {
        "change" => Event::Change(Change {
            key: either("key", line.key, line.key_base64)?.ok_or("a change without a key")?,
            value: either("value", line.value, line.value_base64)?,
            absent: line.absent,
            version: line.version,
            rank: line.rank,
            partition,
            expires_at_ms: line.expires_at_ms,
        }),
        "snapshot_begins" => Event::SnapshotBegins {
            partition,
            is_complete: line.scope == Some("complete"),
            token,
        },
        "snapshot_ends" => Event::SnapshotEnds { partition, token },
        "progress" => Event::Progress { token },
        "cursor" => Event::Cursor {
            name: line.name,
            generation: line.generation,
        },
        "moved" => Event::Moved {
            partitions: line.partitions,
            to: line.to,
        },
        "dropped" => Event::Dropped,
        "end" => Event::End {
            reason: line.reason,
            token,
        },
        event => return Err(format!("an event of the unknown kind {event:?}")),
    })
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
