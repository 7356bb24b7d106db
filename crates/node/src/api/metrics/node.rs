//! Figures of the node as a whole: its metadata store, its disk, what is wrong.

use dunlin_secret::Outcome;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::gauges;
use crate::api::health;
use crate::shard::Shard;

pub(super) fn of_node(registry: &mut Registry, shard: &Shard) {
    // What the system does not tell is left out.
    let disk = rustix::fs::statvfs(&shard.config().data).ok();
    let free_bytes = disk
        .as_ref()
        .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let size_bytes = disk.map(|disk| disk.f_blocks.saturating_mul(disk.f_frsize));
    let tls = shard.config().http_tls.as_ref();
    let certificate = tls.and_then(|tls| tls.validity());
    let figures = [
        (
            "dunlin_metadata_reached",
            "1 while the metadata store answers; without it data is served by what is known of it",
            Some(u64::from(shard.metadata().is_reached())),
        ),
        (
            "dunlin_problems",
            "What is wrong without keeping the node from serving: the lines of problems in /health",
            Some(health::problems(shard).len() as u64),
        ),
        (
            "dunlin_disk_free_bytes",
            "Bytes that are free where the node keeps its data",
            free_bytes,
        ),
        (
            "dunlin_disk_size_bytes",
            "Size of the file system where the node keeps its data",
            size_bytes,
        ),
        (
            "dunlin_tls_certificate_expires_timestamp_seconds",
            "When the certificate that HTTP clients are shown expires, in seconds since 1970",
            certificate.map(|validity| validity.until_s),
        ),
    ];
    gauges(registry, figures);
    let openings = Family::<Vec<(&'static str, &'static str)>, Counter>::default();
    for outcome in Outcome::ALL {
        openings
            .get_or_create(&vec![("result", outcome.name())])
            .inc_by(shard.config().guard.counts.of(outcome));
    }
    registry.register(
        "dunlin_peer_openings",
        "Connections that others opened to the port between nodes, by how that went",
        openings,
    );
}
