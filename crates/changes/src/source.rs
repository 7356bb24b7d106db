//! One source of a stream: a follower of this shard, or a stream from another; at the end of its log, a place at the
//! tail that all share who are there.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Services;
use dunlin_node::plug::PlugItems;
use dunlin_proto::{ShardAddress, Token};
use tokio::time::timeout;

use crate::item::{Item, Open, What};
use crate::joined::Joined;
use crate::places::Place;
use crate::plug::{AtShard, NUMBER};
use crate::reading::{BEAT, Reading};
use crate::tail::Tail;

/// Bytes that may be on their way from another shard.
const WINDOW_BYTES: usize = 96 << 10;
/// A source that says nothing for so long is given up.
const SILENCE: Duration = BEAT.saturating_mul(4);
/// A shard that could not serve is not asked again for so long.
pub(crate) const AVOID: Duration = Duration::from_millis(500);

/// Why a source gives nothing more: its partitions are gone on with at another.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(pub String);

/// One source.
pub(crate) struct Source {
    services: Rc<Services>,
    at: ShardAddress,
    open: Open,
    state: State,
    plugged: Option<Rc<AtShard>>,
}

enum State {
    /// It reads by itself.
    Own {
        own: Own,
        /// At another shard.
        place: Option<Place>,
        /// Where what it gave last goes on.
        latest: Option<Rc<Token>>,
        /// What it is to meet.
        tail: Option<Rc<Tail>>,
    },
    Tail(Joined),
    /// It was lost.
    Gone,
}

/// One that reads by itself.
pub(crate) enum Own {
    Here(Box<Reading>),
    There(PlugItems),
}

impl Source {
    pub async fn open(
        services: &Rc<Services>,
        at: ShardAddress,
        open: Open,
    ) -> Result<Source, Broken> {
        let plugged = AtShard::of(services);
        let state = State::own(services, plugged.as_deref(), at, &open).await?;
        Ok(Source {
            services: services.clone(),
            at,
            open,
            state,
            plugged,
        })
    }

    /// What it gives next. Dropped while it waits, it is not to be asked again.
    pub async fn next(&mut self) -> Result<Item, Broken> {
        loop {
            match &mut self.state {
                State::Own {
                    own, place, latest, ..
                } => {
                    if let Some(latest) =
                        latest.take_if(|_| place.as_ref().is_some_and(Place::is_over))
                    {
                        self.go_on(&latest).await?;
                        continue;
                    }
                    let item = own.next().await?;
                    if let Some(place) = place {
                        place.count(item.bytes());
                    }
                    *latest = Some(item.token.clone());
                    if !matches!(item.what, What::Records { .. }) {
                        self.join(&item.token);
                    }
                    return Ok(item);
                }
                State::Gone => return Err(Broken("it was not opened again".to_owned())),
                State::Tail(joined) => {
                    if let Some(item) = joined.next().await {
                        return Ok(item);
                    }
                    let token = joined.token();
                    self.go_on(&token).await?;
                }
            }
        }
    }

    /// Reads by itself from a token on.
    async fn go_on(&mut self, token: &Token) -> Result<(), Broken> {
        self.open.from = Some(token.clone());
        // What it has now is free for who waits.
        self.state = State::Gone;
        let (services, plugged) = (&self.services, self.plugged.as_deref());
        self.state = State::own(services, plugged, self.at, &self.open).await?;
        Ok(())
    }

    /// Goes on at the tail, where it has come so far.
    fn join(&mut self, token: &Rc<Token>) {
        let (State::Own { tail: met, .. }, Some(plugged)) = (&mut self.state, &self.plugged) else {
            return;
        };
        // One that ends is read to its end by itself.
        if self.open.until.is_some() {
            return;
        }
        let keyspace = self.open.keyspace;
        let Some(tail) = plugged.tails.of(&self.services, self.at, keyspace) else {
            return;
        };
        match tail.join(&self.services, &self.open, token) {
            Some(joined) => self.state = State::Tail(joined),
            None => *met = Some(tail),
        }
    }
}

impl State {
    /// Reads by itself; at another shard when it has a place.
    async fn own(
        services: &Rc<Services>,
        plugged: Option<&AtShard>,
        at: ShardAddress,
        open: &Open,
    ) -> Result<State, Broken> {
        let place = match plugged {
            Some(plugged) if at != services.shard().address() => {
                Some(plugged.places.take(at).await)
            }
            _ => None,
        };
        Ok(State::Own {
            own: Own::open(services, at, open.clone()).await?,
            place,
            latest: None,
            tail: None,
        })
    }
}

impl Own {
    pub async fn open(
        services: &Rc<Services>,
        at: ShardAddress,
        open: Open,
    ) -> Result<Own, Broken> {
        if at == services.shard().address() {
            let reading = Reading::open(services, open).await;
            let reading = reading.map_err(|error| Broken(error.to_string()))?;
            return Ok(Own::Here(Box::new(reading)));
        }
        let items = services.open(at, NUMBER, open.encode(), WINDOW_BYTES).await;
        items
            .map(Own::There)
            .map_err(|error| Broken(error.to_string()))
    }

    /// What it gives next. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Result<Item, Broken> {
        match self {
            Own::Here(reading) => {
                let next = reading.next().await;
                next.map_err(|error| Broken(error.to_string()))
            }
            Own::There(items) => match timeout(SILENCE, items.next()).await {
                Ok(Some(Ok(body))) => Item::decode(body).map_err(|e| Broken(e.to_string())),
                Ok(Some(Err(error))) => Err(Broken(error.to_string())),
                Ok(None) => Err(Broken("it has ended".to_owned())),
                Err(_) => Err(Broken("it says nothing any more".to_owned())),
            },
        }
    }
}
