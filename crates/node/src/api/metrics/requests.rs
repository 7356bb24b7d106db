//! Histograms of clients' requests.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::meters::{BUCKETS, CLASSES, Series, Sums, bound_s};

/// What a node's shards have counted together.
#[derive(Debug)]
struct Durations(BTreeMap<Series, Sums>);

pub(super) fn of_requests(registry: &mut Registry, series: BTreeMap<Series, Sums>) {
    registry.register_collector(Box::new(Durations(series)));
}

impl Collector for Durations {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut family = encoder.encode_descriptor(
            "dunlin_request_duration_seconds",
            "Time from the first look at replicas to the last answer that was needed (scan: to the first \
             page), by operation, keyspace and class of the status.",
            None,
            MetricType::Histogram,
        )?;
        for ((operation, keyspace, class), sums) in &self.0 {
            let labels = [
                ("operation", operation.name()),
                ("keyspace", keyspace.as_str()),
                ("status", CLASSES[*class]),
            ];
            let bounds = (0..=BUCKETS).map(|bucket| match bucket {
                BUCKETS => f64::INFINITY,
                _ => bound_s(bucket),
            });
            let buckets: Vec<(f64, u64)> = bounds.zip(sums.buckets).collect();
            let count = sums.buckets.iter().sum();
            family
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(sums.sum_us as f64 / 1e6, count, &buckets, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
