//! Sums of counters over a cluster, from Prometheus text.

use std::net::SocketAddr;

use super::http;

/// Log counters of all shards of all nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogCounters {
    /// `dunlin_log_syncs_total`.
    pub syncs: f64,
    /// `dunlin_log_records_total`.
    pub records: f64,
}

/// Reads the log counters; `None` when a node does not answer or has none.
pub fn log_counters(addresses: &[SocketAddr]) -> Option<LogCounters> {
    let mut counters = LogCounters {
        syncs: 0.0,
        records: 0.0,
    };
    for &address in addresses {
        let (status, text) = http::request(address, "GET", "/metrics", b"").ok()?;
        if status != 200 {
            return None;
        }
        counters.syncs += sum(&text, "dunlin_log_syncs_total")?;
        counters.records += sum(&text, "dunlin_log_records_total")?;
    }
    Some(counters)
}

/// The sum of a metric over its labels, `None` when it does not occur.
fn sum(text: &str, name: &str) -> Option<f64> {
    text.lines()
        .filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let value = match rest.strip_prefix('{') {
                Some(labels) => labels.rsplit_once('}')?.1,
                None => rest.strip_prefix(' ')?,
            };
            value.split_whitespace().next()?.parse::<f64>().ok()
        })
        .reduce(|a, b| a + b)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
