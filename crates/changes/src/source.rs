//! One source of a stream: a follower of this shard, or a stream from another.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Services;
use dunlin_node::plug::PlugItems;
use dunlin_proto::ShardAddress;
use tokio::time::timeout;

use crate::item::{Item, Open};
use crate::plug::NUMBER;
use crate::reading::{BEAT, Reading};

/// Bytes that may be on their way from another shard.
const WINDOW_BYTES: usize = 96 << 10;
/// A source that says nothing for so long is given up.
const SILENCE: Duration = BEAT.saturating_mul(4);

/// Why a source gives nothing more: its partitions are gone on with at another.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(pub String);

/// One source.
pub(crate) enum Source {
    Here(Box<Reading>),
    There(PlugItems),
}

impl Source {
    pub async fn open(
        services: &Rc<Services>,
        at: ShardAddress,
        open: Open,
    ) -> Result<Source, Broken> {
        if at == services.shard().address() {
            let reading = Reading::open(services, open).await;
            let reading = reading.map_err(|error| Broken(error.to_string()))?;
            return Ok(Source::Here(Box::new(reading)));
        }
        let items = services.open(at, NUMBER, open.encode(), WINDOW_BYTES).await;
        items
            .map(Source::There)
            .map_err(|error| Broken(error.to_string()))
    }

    /// What it gives next. Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Result<Item, Broken> {
        match self {
            Source::Here(reading) => {
                let next = reading.next().await;
                next.map_err(|error| Broken(error.to_string()))
            }
            Source::There(items) => match timeout(SILENCE, items.next()).await {
                Ok(Some(Ok(body))) => Item::decode(body).map_err(|e| Broken(e.to_string())),
                Ok(Some(Err(error))) => Err(Broken(error.to_string())),
                Ok(None) => Err(Broken("it has ended".to_owned())),
                Err(_) => Err(Broken("it says nothing any more".to_owned())),
            },
        }
    }
}
