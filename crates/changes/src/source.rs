//! One source of a stream: a follower of this shard, or a stream from another; at the end of its log, a place at the
//! tail that all share who are there.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::plug::PlugItems;
use dunlin_node::{FollowError, Services};
use dunlin_proto::{ShardAddress, Token, TokenError};
use tokio::time::timeout;

use crate::held::Holder;
use crate::item::{Item, Open, What};
use crate::joined::Joined;
use crate::places::Lent;
use crate::plug::{AtShard, NUMBER};
use crate::reading::{BEAT, Reading};
use crate::tail::Tail;

/// Bytes that may be on their way from another shard.
const WINDOW_BYTES: usize = 96 << 10;
/// A source that says nothing for so long is given up.
const SILENCE: Duration = BEAT.saturating_mul(4);
/// A shard that could not serve is not asked again for so long.
pub(crate) const AVOID: Duration = Duration::from_millis(500);

/// Why a source gives nothing more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// Its partitions are gone on with at another.
    #[error("{0}")]
    Lost(String),
    /// Its log was put back to before the token: the stream must begin anew.
    #[error("the log was put back to an earlier state")]
    PutBack,
}

impl From<FollowError> for Broken {
    fn from(error: FollowError) -> Broken {
        match error {
            FollowError::Token(TokenError::PutBack(_)) => Broken::PutBack,
            error => Broken::Lost(error.to_string()),
        }
    }
}

/// One source.
pub(crate) struct Source {
    services: Rc<Services>,
    at: ShardAddress,
    open: Open,
    state: State,
    plugged: Option<Rc<AtShard>>,
    holder: Holder,
}

enum State {
    /// It reads by itself.
    Own {
        own: Own,
        /// Where what it gave last goes on.
        latest: Option<Rc<Token>>,
        /// What it is to meet.
        tail: Option<Rc<Tail>>,
    },
    Tail(Joined),
}

/// One that reads by itself.
pub(crate) enum Own {
    Here(Box<Reading>),
    There(PlugItems),
    /// The same while it has a place.
    Lent(Lent),
}

impl Source {
    pub async fn open(
        services: &Rc<Services>,
        at: ShardAddress,
        open: Open,
        holder: Holder,
    ) -> Result<Source, Broken> {
        let plugged = AtShard::of(services);
        let state = State::own(services, plugged.as_deref(), at, &open, &holder).await?;
        Ok(Source {
            services: services.clone(),
            at,
            open,
            state,
            plugged,
            holder,
        })
    }

    /// What it gives next. Dropped while it waits, it is not to be asked again.
    pub async fn next(&mut self) -> Result<Item, Broken> {
        loop {
            match &mut self.state {
                State::Own { own, latest, .. } => {
                    let Some(item) = own.next().await else {
                        let latest = latest.take();
                        self.go_on(latest.as_deref()).await?;
                        continue;
                    };
                    let item = item?;
                    *latest = Some(item.token.clone());
                    let is_further = matches!(item.what, What::Entries(_));
                    if is_further || item.what == What::Beat {
                        self.join(&item.token, is_further);
                    }
                    return Ok(item);
                }
                State::Tail(joined) => {
                    if let Some(item) = joined.next().await {
                        return Ok(item);
                    }
                    let token = joined.token();
                    self.go_on(Some(&token)).await?;
                }
            }
        }
    }

    /// Reads by itself from a token on; where there is none, from where it began.
    async fn go_on(&mut self, token: Option<&Token>) -> Result<(), Broken> {
        if let Some(token) = token {
            self.open.from = Some(token.clone());
        }
        let (services, plugged) = (&self.services, self.plugged.as_deref());
        self.state = State::own(services, plugged, self.at, &self.open, &self.holder).await?;
        Ok(())
    }

    /// Goes on at the tail, where it has come so far.
    fn join(&mut self, token: &Rc<Token>, is_further: bool) {
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
            // What gets further again has its place at the tail.
            None if is_further && plugged.tails.is_left_out(&tail, &self.open) => tail.end(),
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
        holder: &Holder,
    ) -> Result<State, Broken> {
        let own = match plugged {
            Some(plugged) if at != services.shard().address() => {
                Own::Lent(plugged.places.lend(services, at, open.clone(), holder))
            }
            _ => Own::open(services, at, open.clone()).await?,
        };
        Ok(State::Own {
            own,
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
            return Ok(Own::Here(Box::new(reading?)));
        }
        let items = services.open(at, NUMBER, open.encode(), WINDOW_BYTES).await;
        items
            .map(Own::There)
            .map_err(|error| Broken::Lost(error.to_string()))
    }

    /// What it gives next; `None` where it is to be opened again. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Option<Result<Item, Broken>> {
        let given = match self {
            Own::Here(reading) => reading.next().await.map_err(Broken::from),
            Own::There(items) => match timeout(SILENCE, items.next()).await {
                Ok(Some(Ok(body))) => match Item::decode(body) {
                    Ok(item) if item.what == What::PutBack => Err(Broken::PutBack),
                    decoded => decoded.map_err(|error| Broken::Lost(error.to_string())),
                },
                Ok(Some(Err(error))) => Err(Broken::Lost(error.to_string())),
                Ok(None) => Err(Broken::Lost("it has ended".to_owned())),
                Err(_) => Err(Broken::Lost("it says nothing any more".to_owned())),
            },
            Own::Lent(lent) => return lent.next().await,
        };
        Some(given)
    }
}
