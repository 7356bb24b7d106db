//! What of the log is kept for who follows a keyspace: at least, and at most (`--retain-min`, `--retain-max`).

use dunlin_log::{Index, SegmentInfo};
use dunlin_metadata::Keyspace;
use dunlin_proto::api::PinStatus;

use super::{Shard, vector_of};
use crate::follow::{Segment, kept_at_least, kept_at_most};

/// The first record that a keyspace's retention keeps.
pub(super) struct Kept {
    pub keyspace: Keyspace,
    pub least: Option<Index>,
    pub most: Option<Index>,
}

impl Shard {
    /// What the keyspaces kept here ask for; those that ask for nothing are left out.
    pub(super) fn retentions(&self) -> Vec<Kept> {
        let placement = self.placement();
        let is_here = |keyspace: &Keyspace| {
            placement.keyspace(keyspace.id).is_some_and(|k| {
                let width = k.keyspace.width();
                let mut all = 0..k.partition_count();
                all.any(|partition| k.replicas(partition, width).contains(&self.address))
            })
        };
        let asking = placement.in_use().filter(|k| !k.retention.is_empty());
        let asking: Vec<Keyspace> = asking.filter(|k| is_here(k)).cloned().collect();
        if asking.is_empty() {
            return Vec::new();
        }
        let segments = self.log.segments();
        let sizes: Vec<Segment> = segments.iter().map(Segment::of).collect();
        let ended_ms = ended_ms(&segments);
        let now_ms = self.clock.now_ms();
        let kept = asking.into_iter().map(|keyspace| {
            let retention = &keyspace.retention;
            Kept {
                least: kept_at_least(&sizes, &ended_ms, now_ms, retention),
                most: kept_at_most(&sizes, &ended_ms, now_ms, retention),
                keyspace,
            }
        });
        kept.collect()
    }

    /// The same for people, beside the pins.
    pub(super) fn retained(&self, bytes_from: impl Fn(Index) -> u64) -> Vec<PinStatus> {
        let kept = self.retentions().into_iter().filter_map(|kept| {
            let position = kept.least?.max(self.log.first());
            Some(PinStatus {
                holder: format!("keyspace {}, --retain-min", kept.keyspace.name),
                position,
                bytes: bytes_from(position),
                held_ms: 0,
                let_go: false,
            })
        });
        kept.collect()
    }
}

/// By when each segment was written to its end, by the newest that the next one's vector names.
fn ended_ms(segments: &[SegmentInfo]) -> Vec<u64> {
    let ended = segments.iter().skip(1).map(|next| {
        let vector = vector_of(&next.preamble).unwrap_or_default();
        let entries = vector.iter().filter(|(origin, _)| !origin.is_seal());
        entries
            .map(|(_, version)| version.millis())
            .max()
            .unwrap_or(0)
    });
    ended.collect()
}
