//! A follower of one shard and what is asked of it: here for a client, or for another shard.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Entry, Vector};
use dunlin_node::{Begun, Follow, FollowError, From, Next, Services, Wanted};
use dunlin_proto::Token;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::change::Change;
use crate::item::{Item, Open, What};

/// A source says at least so often that it is there.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// How often it is looked whether the shard has what must be told.
const LOOK: Duration = Duration::from_millis(20);
/// A partition that gets no further for so long is followed by itself.
const STANDS_FOR: Duration = Duration::from_secs(2);
/// What comes at the end of a log is gathered for so long: no work for each entry and reader.
const GATHER: Duration = Duration::from_millis(4);

/// What is asked of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Number of the keyspace.
    pub keyspace: u32,
    /// Keys that begin with this.
    pub prefix: Bytes,
    /// Values are not wanted.
    pub keys_only: bool,
    /// Only what this very shard has is wanted, as of the replica that it is.
    pub only_here: bool,
    /// Who follows, for people.
    pub who: String,
}

/// A follower of one shard.
pub(crate) struct Reading {
    follow: Follow,
    keys_only: bool,
    until: Option<Vec<(u16, Vector)>>,
    /// What must stay as it is, for who are at the tail that this reads: how the log was gone on with.
    begun: Option<Begun>,
    /// The end of the log, when the shard had all that is to be told.
    end: Option<u64>,
    /// It is of more than one partition.
    is_of_many: bool,
    /// It has said where it begins.
    has_begun: bool,
    /// Not read before.
    rests_until: Instant,
    next_beat: Instant,
}

impl Reading {
    pub async fn open(services: &Services, open: Open) -> Result<Reading, FollowError> {
        let from = match open.from {
            None => From::Now,
            Some(token) if token.is_empty() => From::Beginning,
            Some(token) => From::Token(token.narrow(&open.partitions)),
        };
        let is_of_many = open.partitions.len() > 1;
        let wanted = Wanted {
            keyspace: open.keyspace,
            partitions: open.partitions,
            prefix: open.prefix,
            who: open.who,
        };
        let now = Instant::now();
        let follow = services.followers().open(from, wanted).await?;
        Ok(Reading {
            begun: open.is_tail.then(|| follow.begun()),
            follow,
            keys_only: open.keys_only,
            until: open.until,
            end: None,
            is_of_many,
            has_begun: false,
            rests_until: now,
            next_beat: now,
        })
    }

    /// The next item: a beat when nothing comes for a while. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Result<Item, FollowError> {
        if !self.has_begun {
            self.has_begun = true;
            return Ok(self.item(What::Beat));
        }
        loop {
            if self.is_done() {
                return Ok(self.item(What::Beat));
            }
            let look = match (&self.until, self.end) {
                (Some(_), None) => Instant::now() + LOOK,
                _ => self.next_beat,
            };
            if self.follow.is_current() && self.rests_until > Instant::now() {
                sleep_until(self.rests_until).await;
            }
            let Ok(next) = timeout_at(look.min(self.next_beat), self.follow.next()).await else {
                if Instant::now() < self.next_beat {
                    continue;
                }
                return Ok(self.item(self.silence()));
            };
            self.rests_until = Instant::now() + GATHER;
            let next = next?;
            if self.begun.is_some_and(|begun| begun != self.follow.begun()) {
                let line = "the log of this shard is not all there is any more";
                return Err(FollowError::Failed(line.to_owned()));
            }
            let what = match next {
                // Much may be written that is none of its own: it is said how far it is all the same.
                Next::Entries(entries) if entries.is_empty() => {
                    if Instant::now() < self.next_beat {
                        continue;
                    }
                    What::Beat
                }
                Next::Entries(entries) => {
                    let entries = self.strip(entries).into_iter();
                    What::Entries(entries.map(Change::new).collect())
                }
                Next::Records {
                    partition,
                    begins,
                    records,
                    ends,
                } => What::Records {
                    partition,
                    begins,
                    records: self.strip(records),
                    ends,
                },
            };
            return Ok(self.item(what));
        }
    }

    /// What is said where nothing came.
    fn silence(&self) -> What {
        match self.follow.stands() {
            Some((partition, since)) if since.elapsed() >= STANDS_FOR && self.is_of_many => {
                What::Stands(partition)
            }
            _ => What::Beat,
        }
    }

    /// Whether all has been told that was to be. What the shard has of copies, no vector names: so it has read
    /// its log to the end that it had when it had all that is named.
    fn is_done(&mut self) -> bool {
        let Some(until) = &self.until else {
            return false;
        };
        if self.end.is_none()
            && until
                .iter()
                .all(|(partition, vector)| self.follow.has(*partition, vector))
        {
            self.end = Some(self.follow.log_end());
        }
        self.end.is_some_and(|end| self.follow.is_past(end))
    }

    fn item(&mut self, what: What) -> Item {
        self.next_beat = Instant::now() + BEAT;
        Item {
            what,
            token: Rc::new(self.follow.token()),
            end: self.follow.log_end(),
            forgotten: self.follow.forgotten(),
            is_done: self.is_done(),
        }
    }

    fn strip(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        if self.keys_only {
            entries.iter_mut().for_each(|e| e.value = Bytes::new());
        }
        entries
    }
}

/// Where what another shard is asked goes on: at its beginning, a token that names nothing.
pub(crate) fn beginning(cluster: u128, keyspace: u32) -> Token {
    Token::new(cluster, keyspace, None, [])
}
