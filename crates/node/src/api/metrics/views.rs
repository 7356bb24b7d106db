//! Figures of the views whose indexes a node keeps.

use std::sync::atomic::AtomicU64;

use dunlin_proto::api::ViewStatus;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::shard::ShardStatus;

type Labels = Vec<(&'static str, String)>;
type Read = fn(&ViewStatus) -> u64;

/// What each shard's part of each view is like.
pub(super) fn of_views(registry: &mut Registry, statuses: &[ShardStatus]) {
    let views = || statuses.iter().flat_map(|status| &status.feeds.views);
    let labels = |view: &ViewStatus| {
        vec![
            ("shard", view.at.clone()),
            ("keyspace", view.keyspace.clone()),
            ("view", view.view.clone()),
        ]
    };
    let gauges: [(&str, &str, Read); 4] = [
        ("dunlin_view_rows", "Rows of a view at a shard", |view| {
            view.rows
        }),
        (
            "dunlin_view_documents_skipped",
            "Documents that a view skips because its map function failed",
            |view| view.failed,
        ),
        (
            "dunlin_view_behind_bytes",
            "Bytes of the log that the index has not read yet, roughly",
            |view| view.bytes_behind.unwrap_or(0),
        ),
        (
            "dunlin_view_failing",
            "1 where the index makes no progress",
            |view| view.error.is_some().into(),
        ),
    ];
    for (name, help, read) in gauges {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for view in views() {
            family.get_or_create(&labels(view)).set(read(view));
        }
        registry.register(name, help, family);
    }
    let built = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    let queries = Family::<Labels, Counter>::default();
    let seconds = Family::<Labels, Counter<f64, AtomicU64>>::default();
    for view in views() {
        built.get_or_create(&labels(view)).set(view.built);
        queries.get_or_create(&labels(view)).inc_by(view.queries);
        let total_s = view.queries_us as f64 / 1e6;
        seconds.get_or_create(&labels(view)).inc_by(total_s);
    }
    let help = "How much of the index is built, from 0 to 1";
    registry.register("dunlin_view_built_ratio", help, built);
    let help = "Queries of clients";
    registry.register("dunlin_view_queries", help, queries);
    let help = "Seconds that these took until their first row, together";
    registry.register("dunlin_view_query_seconds", help, seconds);
}
