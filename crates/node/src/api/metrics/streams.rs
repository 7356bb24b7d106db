//! Figures of the streams of changes that a node serves. Those without a cursor have no lasting name: they are
//! counted together.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use dunlin_proto::api::StreamStatus;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::shard::ShardStatus;

type Labels = Vec<(&'static str, String)>;
type Read = fn(&Figures) -> u64;

/// What the streams of a keyspace have in common, those of one cursor alone.
#[derive(Debug, Default)]
struct Figures {
    streams: u64,
    unread: u64,
    entries_behind: u64,
    bytes_behind: u64,
    behind_ms: u64,
    bytes_per_s: u64,
}

impl Figures {
    fn add(&mut self, stream: &StreamStatus) {
        self.streams += 1;
        self.unread += u64::from(stream.state == "not_read");
        self.bytes_per_s += stream.bytes_per_s;
        let most = |greatest: &mut u64, other| *greatest = (*greatest).max(other);
        most(&mut self.entries_behind, stream.entries_behind.unwrap_or(0));
        most(&mut self.bytes_behind, stream.bytes_behind.unwrap_or(0));
        most(&mut self.behind_ms, stream.behind_ms);
    }
}

/// What each keyspace's streams are told, and how far the furthest behind is.
pub(super) fn of_streams(registry: &mut Registry, statuses: &[ShardStatus]) {
    let mut all: BTreeMap<Labels, Figures> = BTreeMap::new();
    for stream in statuses.iter().flat_map(|status| &status.feeds.streams) {
        let cursor = stream.cursor.clone().unwrap_or_default();
        let labels = vec![
            ("shard", stream.at.clone()),
            ("keyspace", stream.keyspace.clone()),
            ("cursor", cursor),
        ];
        all.entry(labels).or_default().add(stream);
    }
    let counts: [(&str, &str, Read); 5] = [
        (
            "dunlin_streams",
            "Streams of changes that are connected",
            |f| f.streams,
        ),
        (
            "dunlin_streams_not_read",
            "Streams whose clients have taken nothing for more than a second",
            |f| f.unread,
        ),
        (
            "dunlin_stream_behind_entries",
            "Log records that the stream furthest behind has yet to read",
            |f| f.entries_behind,
        ),
        (
            "dunlin_stream_behind_bytes",
            "Bytes of these, roughly",
            |f| f.bytes_behind,
        ),
        (
            "dunlin_stream_bytes_per_second",
            "Bytes of keys and values told each second, to all together",
            |f| f.bytes_per_s,
        ),
    ];
    for (name, help, read) in counts {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for (labels, figures) in &all {
            family.get_or_create(labels).set(read(figures));
        }
        registry.register(name, help, family);
    }
    let behind = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for (labels, figures) in &all {
        let behind_s = figures.behind_ms as f64 / 1e3;
        behind.get_or_create(labels).set(behind_s);
    }
    registry.register(
        "dunlin_stream_behind_seconds",
        "How far the stream furthest behind is behind, in seconds",
        behind,
    );
}
