//! Serving and asking for entries of one origin out of any replica's log.

use std::rc::Rc;

use dunlin_entry::Version;
use dunlin_log::CursorError;
use dunlin_proto::{PullAnswer, PullRequest};

use super::Replication;
use super::catch_up::address_of;
use super::reclaim::hole_up_to;
use crate::follow::{Bound, Class, Hits, Met, Selection};
use crate::limits::{LOOK_BYTES, PULL_BYTES};
use crate::sabotage::Sabotage;
use crate::shard::followed;

impl Replication {
    /// One page of what this shard's log holds of an origin, for another replica.
    pub(crate) async fn serve_pull(self: Rc<Self>, request: PullRequest) -> PullAnswer {
        // Copies are not in the log in their place, files not at all, and the vector may have risen
        // over what was meant for others: of what its writer has lost, the store tells.
        let is_past_of_asker = address_of(request.origin) == request.for_shard
            && self.shard.env().sabotage != Sabotage::RefillOwnOnly;
        if is_past_of_asker && self.shard.copies().is_beyond(request.origin, request.after) {
            return PullAnswer::TooOld;
        }
        // What was here of it is no longer known one by one.
        let is_sealed = request.origin.is_seal()
            || self.shard.known().sealed_to(request.origin) > request.origin.incarnation();
        if is_sealed {
            return PullAnswer::TooOld;
        }
        let start = match request.resume_index {
            0 => self.find_in_log(request.origin, request.after),
            index => Some(index),
        };
        let Some(start) = start else {
            return PullAnswer::TooOld;
        };
        let end = self.shard.log_last();
        let mut up_to = self.shard.has_up_to(request.origin);
        let mut entries = Vec::new();
        let mut source = self.shard.source(start, Bound::UpTo(end));
        let (mut bytes, mut looked_at) = (0, 0);
        loop {
            let turn = self.shard.turn(Class::Replica).await;
            let read = source.next(PULL_BYTES).await;
            turn.end_of(&read);
            let records = match read {
                Ok(Some(records)) => records,
                Ok(None) => break,
                Err(CursorError::TooOld { .. }) => return PullAnswer::TooOld,
                Err(error) => {
                    tracing::error!(%error, "cannot read the log for another replica");
                    return PullAnswer::TooOld;
                }
            };
            let placement = self.shard.placement();
            let meant = |keyspace, partition, from| {
                placement
                    .keyspace(keyspace)
                    .is_some_and(|k| k.holds(request.for_shard, partition, from))
            };
            let selection = Selection::of(request.origin, request.after, meant);
            let mut hits = Hits::default();
            for (_, record) in &records {
                looked_at += record.len();
                if hole_up_to(record, request.origin) > request.after {
                    return PullAnswer::TooOld;
                }
                hits.read(record);
                if let Met::Wanted(_) = selection.look(record) {
                    hits.keep(record);
                }
            }
            bytes += hits.bytes();
            entries.extend(hits.into_entries());
            // Where little of the log is the origin's, a page is done all the same.
            let is_done = bytes >= PULL_BYTES || looked_at >= LOOK_BYTES;
            if is_done && source.position() <= end {
                up_to = last_version(&entries).unwrap_or(request.after);
                return PullAnswer::Entries {
                    entries,
                    up_to,
                    resume_index: source.position(),
                };
            }
        }
        PullAnswer::Entries {
            entries,
            up_to,
            resume_index: 0,
        }
    }
}

fn last_version(entries: &[bytes::Bytes]) -> Option<Version> {
    followed(entries.last()?).map(|view| view.position().sequence)
}

#[cfg(test)]
#[path = "pull_tests.rs"]
mod tests;
