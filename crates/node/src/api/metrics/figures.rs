//! Figures that capabilities have of their own.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use dunlin_proto::api::Figure;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::shard::ShardStatus;

type Labels = Vec<(String, String)>;

/// Those of all shards, by name.
pub(super) fn of_figures(registry: &mut Registry, statuses: &[ShardStatus]) {
    let mut by_name: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in statuses.iter().flat_map(|status| &status.feeds.figures) {
        by_name.entry(&figure.name).or_default().push(figure);
    }
    for (name, figures) in by_name {
        let Some(first) = figures.first() else {
            continue;
        };
        if first.is_counter {
            let family = Family::<Labels, Counter<f64, AtomicU64>>::default();
            for figure in &figures {
                family.get_or_create(&figure.labels).inc_by(figure.value);
            }
            registry.register(name, &first.help, family);
        } else {
            let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
            for figure in &figures {
                family.get_or_create(&figure.labels).set(figure.value);
            }
            registry.register(name, &first.help, family);
        }
    }
}
