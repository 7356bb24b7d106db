//! By how many replicas entries are stored, noted where more are met than the metadata store says.

use dunlin_entry::{Entry, Kind};
use dunlin_metadata::MetadataError;
use tokio::time::sleep;

use super::Shard;
use crate::limits::WRITE_TIMEOUT;
use crate::placement::KeyspacePlacement;
use crate::sabotage::Sabotage;

impl Shard {
    /// Notes how wide an entry is that nobody asked for: it is of a node, or a time, in which
    /// that was not done. Nobody waits for it.
    pub(super) fn note_width(&self, keyspace: &KeyspacePlacement, entry: &Entry) {
        if entry.from <= keyspace.keyspace.width()
            || entry.kind != Kind::Put
            || self.env.sabotage == Sabotage::NarrowFrom
            || self.noting_width.replace(true)
        {
            return;
        }
        let (metadata, noting) = (self.metadata.clone(), self.noting_width.clone());
        let (name, id, from) = (keyspace.keyspace.name.clone(), entry.keyspace, entry.from);
        tokio::task::spawn_local(async move {
            match metadata.widen_keyspace(&name, id, from, 0).await {
                Ok(()) | Err(MetadataError::NotFound { .. }) => {}
                Err(error) => tracing::warn!(%error, keyspace = name, from, "not noted yet"),
            }
            // Until this shard goes by it, and not all the time where it cannot be noted.
            sleep(WRITE_TIMEOUT).await;
            noting.set(false);
        });
    }
}
