//! Many writes of one request: each goes its own way, none waits for the one before.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_store::Kind;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Failure, Quorum};
use crate::message::{Condition, WriteRequest};
use crate::shard::Shard;

/// Writes of one request that wait for their acknowledgements.
const IN_FLIGHT: usize = 4096;
/// Writes begun in one go; other requests have their turn after so many.
const BEGUN_AT_ONCE: usize = 64;

impl Shard {
    /// Puts `pairs`, in no order; done when each is acknowledged as `quorum` asks.
    ///
    /// # Errors
    /// The first failure. Any number of pairs may have been written by then.
    pub async fn coordinate_bulk(
        self: &Rc<Self>,
        keyspace: u32,
        quorum: Quorum,
        pairs: impl Iterator<Item = (Bytes, Bytes)>,
    ) -> Result<(), Failure> {
        let put = |(key, value)| {
            self.coordinate_write(WriteRequest {
                keyspace,
                kind: Kind::Put,
                ack: quorum.ack,
                from: quorum.from,
                condition: Condition::None,
                expiry_ms: None,
                key,
                value,
            })
        };
        let begun = stream::iter(pairs.enumerate()).then(|(number, pair)| async move {
            if number % BEGUN_AT_ONCE == BEGUN_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            pair
        });
        begun
            .map(put)
            .buffer_unordered(IN_FLIGHT)
            .try_for_each(|_| async { Ok(()) })
            .await
    }
}
