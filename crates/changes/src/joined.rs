//! Who is at the tail of a log: a place in its ring.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_log::Index;
use dunlin_node::{Services, is_news_entry};
use dunlin_proto::Token;
use tokio::time::{Instant, timeout_at};

use crate::change::Change;
use crate::item::{Item, Open, What};
use crate::reading::BEAT;
use crate::ring::Got;
use crate::tail::Tail;

/// Where somebody is in a ring.
pub(crate) struct Place {
    /// The chunk that he is given next.
    pub next: Cell<u64>,
    /// Where he goes on.
    token: RefCell<Rc<Token>>,
    who: String,
}

impl Place {
    /// Keeps what he has to read of the log for a while: he does not know yet that he has lost his place.
    pub fn keep(&self, services: &Services) {
        let name = format!("a stream that does not keep up: {}", self.who);
        services.followers().keep(&name, &self.token.borrow());
    }
}

/// Somebody who is at a tail.
pub(crate) struct Joined {
    tail: Rc<Tail>,
    pub place: Rc<Place>,
    /// Ascending.
    partitions: Vec<u16>,
    prefix: Bytes,
    /// What he has been told may be more than the tail has read: up to this record, and this.
    from: Index,
    ahead: Option<Rc<Token>>,
}

impl Joined {
    /// At a place of the ring, having read the log up to a record and been told all before a token.
    pub fn new(tail: Rc<Tail>, open: &Open, token: Rc<Token>, next: u64, from: Index) -> Joined {
        // Those of several that were lost come in any order.
        let mut partitions = open.partitions.clone();
        partitions.sort_unstable();
        Joined {
            tail,
            partitions,
            prefix: open.prefix.clone(),
            from,
            ahead: Some(token.clone()),
            place: Rc::new(Place {
                next: Cell::new(next),
                token: RefCell::new(token),
                who: open.who.clone(),
            }),
        }
    }

    /// Where he goes on.
    pub fn token(&self) -> Rc<Token> {
        self.place.token.borrow().clone()
    }

    /// What comes next; `None` where he must read by himself again. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Option<Item> {
        let until = Instant::now() + BEAT;
        loop {
            let tail = self.tail.clone();
            let changed = tail.changed.notified();
            if tail.is_over.get() {
                return None;
            }
            let place = self.place.next.get();
            let got = tail.ring.borrow().as_ref().map(|ring| ring.get(place));
            match got.unwrap_or(Got::Lost) {
                Got::Lost => return None,
                Got::End(token) => self.advance(&token),
                Got::Chunk(chunk) => {
                    self.place.next.set(place + 1);
                    let changes = if chunk.last > self.from {
                        self.of(&chunk.changes)
                    } else {
                        Vec::new()
                    };
                    self.advance(&chunk.token);
                    if changes.is_empty() {
                        continue;
                    }
                    return Some(self.item(What::Entries(changes)));
                }
            }
            if timeout_at(until, changed).await.is_err() {
                return Some(self.item(What::Beat));
            }
        }
    }

    fn item(&self, what: What) -> Item {
        Item {
            what,
            token: self.token(),
            end: self.tail.end.get(),
            forgotten: self.tail.forgotten.get(),
            is_done: false,
        }
    }

    /// Those of the changes that are his.
    fn of(&self, changes: &[Rc<Change>]) -> Vec<Rc<Change>> {
        let has_all = self.partitions.len() == self.tail.partitions.len();
        let mut told = Vec::with_capacity(changes.len());
        for change in changes {
            let partition = change.partition;
            let is_wanted = (has_all || self.partitions.binary_search(&partition).is_ok())
                && change.key.starts_with(&self.prefix);
            let was_told = || {
                self.ahead
                    .as_ref()
                    .is_some_and(|token| is_old(change, token))
            };
            if is_wanted && !was_told() {
                told.push(change.clone());
            }
        }
        told
    }

    /// He has been told all that the tail had, up to where `read` goes on.
    fn advance(&mut self, read: &Rc<Token>) {
        let mut token = if self.partitions.len() == self.tail.partitions.len() {
            read.clone()
        } else {
            Rc::new(Token::clone(read).narrow(&self.partitions))
        };
        if let Some(ahead) = &self.ahead {
            let more: Vec<_> = ahead
                .vectors()
                .filter_map(|(partition, seen)| {
                    let told = token.vector(partition)?;
                    let mut both = told.clone();
                    both.merge(seen);
                    (both != *told).then_some((partition, both))
                })
                .collect();
            if more.is_empty() {
                self.ahead = None;
            } else {
                let token = Rc::make_mut(&mut token);
                more.into_iter()
                    .for_each(|(partition, both)| token.set_vector(partition, both));
            }
        }
        *self.place.token.borrow_mut() = token;
    }
}

/// Whether a change that a log has is named by a token, as far as its place tells.
fn is_old(change: &Entry, token: &Token) -> bool {
    let seen = token.vector(change.partition);
    seen.is_some_and(|seen| !is_news_entry(change, seen))
}

#[cfg(test)]
#[path = "joined_tests.rs"]
mod tests;
