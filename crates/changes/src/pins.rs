//! The part of a shard's log that is kept for cursors, until they have read it.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_entry::Stamp;
use dunlin_node::{Pinned, Services};
use dunlin_proto::Token;
use tokio::task::yield_now;

use crate::cursors::{self, Damaged};

/// The pin of each cursor, by keyspace and name. The place of a cursor in the log is only determined again when it, or
/// the log, has changed.
#[derive(Default)]
pub(crate) struct Pins {
    kept: BTreeMap<(u32, String), (Stamp, Option<Pinned>)>,
}

impl Pins {
    /// Renews the pin of each cursor; whether the cursors could be read.
    pub async fn renew(&mut self, services: &Rc<Services>) -> bool {
        let cursors = match cursors::list(services, cursors::PREFIX.into()).await {
            Ok((cursors, damaged)) => {
                for Damaged { name, why } in damaged {
                    tracing::warn!(name, why, "the record of a cursor cannot be read: drop it");
                }
                cursors
            }
            Err(rejected) => {
                tracing::debug!(why = rejected.line, "the cursors cannot be read");
                return false;
            }
        };
        let mut before = std::mem::take(&mut self.kept);
        for (cursor, at) in cursors {
            let followers = services.followers();
            let holder = format!("cursor {}", cursor.name);
            let name = (cursor.keyspace, cursor.name);
            let known = before.remove(&name).filter(|(of, _)| *of == at);
            if let Some((_, Some(pinned))) = known
                && followers.keep_on(&holder, name.0, pinned)
            {
                self.kept.insert(name, (at, Some(pinned)));
                continue;
            }
            if let Ok(token) = cursor.token.parse::<Token>() {
                let pinned = followers.keep(&holder, &token);
                self.kept.insert(name, (at, pinned));
            }
            // There may be many, and requests go first.
            yield_now().await;
        }
        true
    }
}
