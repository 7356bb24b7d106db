//! Figures of the process: what its nodes have together.

use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::gauges;
use super::procfs::Figures;
use crate::doors::Doors;
use crate::logins::Logins;

/// What the nodes of a process have together.
pub(super) fn of_process(registry: &mut Registry, doors: &Doors, logins: &Logins) {
    let bounds = doors.bounds;
    let figures = [
        (
            "dunlin_connections",
            "Connections of clients to all nodes of the process",
            doors.connections.load(Relaxed),
        ),
        (
            "dunlin_connections_max",
            "Connections beyond which further ones are refused",
            bounds.connections,
        ),
        (
            "dunlin_request_memory_bytes",
            "Memory of requests, answers and queues of the process",
            doors.memory_bytes(),
        ),
        (
            "dunlin_request_memory_bytes_max",
            "Memory beyond which requests are refused",
            bounds.memory_bytes,
        ),
    ];
    let figures = figures.map(|(name, help, value)| (name, help, Some(value as u64)));
    gauges(registry, figures);
    let counters = [
        (
            "dunlin_connections_refused",
            "Connections refused because there were too many",
            &doors.connections_refused,
        ),
        (
            "dunlin_request_memory_refused",
            "Requests refused for want of memory",
            &doors.memory_refused,
        ),
        (
            "dunlin_slow_senders",
            "Requests given up because their bodies came too slowly",
            &doors.slow_senders,
        ),
        (
            "dunlin_slow_readers",
            "Connections given up because their answers were not taken",
            &doors.slow_readers,
        ),
        (
            "dunlin_logins_failed",
            "Requests with a wrong name, password or token",
            &logins.counts.failed,
        ),
        (
            "dunlin_logins_refused",
            "Requests refused because too many passwords were being checked",
            &logins.counts.busy,
        ),
        (
            "dunlin_passwords_hashed",
            "Passwords that were checked, and not remembered",
            &logins.counts.hashed,
        ),
        (
            "dunlin_requests_forbidden",
            "Requests of users that lack the role for them",
            &logins.counts.forbidden,
        ),
    ];
    for (name, help, count) in counters {
        let counter = Counter::<u64>::default();
        counter.inc_by(count.load(Relaxed));
        registry.register(name, help, counter);
    }
    registry.register(
        "dunlin_build",
        "The program that runs",
        Info::new([("version", env!("CARGO_PKG_VERSION"))]),
    );
    Figures::now().register(registry);
}
