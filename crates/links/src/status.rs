//! The state of links, out of the answers of all shards.

use std::rc::Rc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_metadata::LinkRecord;
use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use dunlin_proto::api::{Figure, HomeProgress, LinkAtShard, LinkCounts, LinkState, LinkStatus};
use futures_util::future::join_all;

use crate::report::{grace_ms, read_table};
use crate::running::{LinksAtShard, NUMBER, STATUS, by_record};

const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// The shards that hold a part of a keyspace.
fn holders(services: &Services, keyspace: u32) -> Vec<ShardAddress> {
    let count = services.partition_count(keyspace).unwrap_or(0);
    let all = (0..count).flat_map(|partition| services.replicas(keyspace, partition));
    let mut holders: Vec<ShardAddress> = all.collect();
    holders.sort_unstable();
    holders.dedup();
    holders
}

/// The state of a link, at all shards.
pub(crate) async fn of(services: &Rc<Services>, keyspace: u32, link: &LinkRecord) -> LinkStatus {
    let holders = holders(services, keyspace);
    let requests = holders
        .iter()
        .map(|at| at_shard(services, *at, keyspace, link.id));
    let mut status = LinkStatus {
        name: link.name.clone(),
        from: services.keyspace_name(keyspace),
        to: link.to.clone(),
        keyspace: link.keyspace.clone(),
        cluster: link.cluster.clone(),
        prefix: link.prefix.clone(),
        limit_bytes_per_s: link.limit_bytes_per_s,
        login: link.login.clone(),
        created_ms: link.created_ms,
        age_s_max: grace_ms(services, link) / 4_000 * 3,
        ..LinkStatus::default()
    };
    for (at, answer) in holders.iter().zip(join_all(requests).await) {
        match answer {
            None => status.unreachable.push(services.label_of(*at)),
            Some(shard) => add(&mut status, shard),
        }
    }
    if let Ok(homes) = read_table(services, keyspace, link).await {
        let now_ms = services.now_ms();
        let age_s = |home: &HomeProgress| {
            let delivered = home.delivered?.0;
            Some(now_ms.saturating_sub(delivered.millis()) / 1_000)
        };
        let ages: Option<Vec<u64>> = homes.values().map(age_s).collect();
        status.delivered_age_s = ages.and_then(|ages| ages.into_iter().max());
        status.homes = homes;
        status.now_ms = now_ms;
    }
    if let Some((state, why)) = by_record(link) {
        status.state = state;
        status.why = Some(why);
    }
    status
}

fn add(status: &mut LinkStatus, shard: LinkAtShard) {
    let (all, one) = (&mut status.counts, &shard.counts);
    let sums: [(&mut u64, u64); 11] = [
        (&mut all.sent, one.sent),
        (&mut all.sent_bytes, one.sent_bytes),
        (&mut all.held, one.held),
        (&mut all.older, one.older),
        (&mut all.own, one.own),
        (&mut all.future, one.future),
        (&mut all.filtered, one.filtered),
        (&mut all.retries, one.retries),
        (&mut all.entries_behind, one.entries_behind),
        (&mut all.bytes_behind, one.bytes_behind),
        (&mut all.bytes_per_s, one.bytes_per_s),
    ];
    for (sum, more) in sums {
        *sum += more;
    }
    all.latency_ms_p80 = all.latency_ms_p80.max(one.latency_ms_p80);
    all.latency_ms_p95 = all.latency_ms_p95.max(one.latency_ms_p95);
    all.latency_ms_p99 = all.latency_ms_p99.max(one.latency_ms_p99);
    if shard.state > status.state || status.shards.is_empty() {
        status.state = shard.state;
        status.why.clone_from(&shard.why);
    }
    status.shards.push(shard);
}

async fn at_shard(
    services: &Rc<Services>,
    at: ShardAddress,
    keyspace: u32,
    link: u32,
) -> Option<LinkAtShard> {
    if at == services.shard().address() {
        return Some(LinksAtShard::of(services)?.status(services, keyspace, link));
    }
    let mut body = BytesMut::with_capacity(9);
    body.put_u8(STATUS);
    body.put_u32_le(keyspace);
    body.put_u32_le(link);
    let answer = services.ask(at, NUMBER, body.freeze(), ASK_TIMEOUT).await;
    serde_json::from_slice(&answer.ok()?).ok()
}

/// As it goes to another shard.
pub(crate) fn encode(status: &LinkAtShard) -> Bytes {
    serde_json::to_vec(status).unwrap_or_default().into()
}

type Read = fn(&LinkCounts) -> u64;

const STATES: [LinkState; 9] = [
    LinkState::Current,
    LinkState::CatchingUp,
    LinkState::Loading,
    LinkState::Paused,
    LinkState::Waiting,
    LinkState::Clock,
    LinkState::Late,
    LinkState::TargetGone,
    LinkState::Broken,
];

/// Name, meaning, whether it only grows.
const COUNTS: [(&str, &str, bool, Read); 10] = [
    (
        "dunlin_link_sent",
        "Entries that the target has acknowledged",
        true,
        |c| c.sent,
    ),
    (
        "dunlin_link_sent_bytes",
        "Bytes of their keys and values",
        true,
        |c| c.sent_bytes,
    ),
    (
        "dunlin_link_held",
        "Entries that the target had already",
        true,
        |c| c.held,
    ),
    (
        "dunlin_link_older",
        "Entries in place of which the target had something newer",
        true,
        |c| c.older,
    ),
    (
        "dunlin_link_filtered",
        "Entries that were not sent",
        true,
        |c| c.filtered,
    ),
    (
        "dunlin_link_future",
        "Entries with future timestamps, which the target left out",
        true,
        |c| c.future,
    ),
    (
        "dunlin_link_retries",
        "Requests that were sent again",
        true,
        |c| c.retries,
    ),
    (
        "dunlin_link_behind_entries",
        "Log records that the link has yet to read",
        false,
        |c| c.entries_behind,
    ),
    (
        "dunlin_link_behind_bytes",
        "Bytes of these, roughly",
        false,
        |c| c.bytes_behind,
    ),
    (
        "dunlin_link_bytes_per_second",
        "Bytes acknowledged each second",
        false,
        |c| c.bytes_per_s,
    ),
];

/// Figures of a link at a shard, for `/metrics`.
pub(crate) fn figures(keyspace: &str, link: &str, status: &LinkAtShard) -> Vec<Figure> {
    let labels: Vec<(String, String)> = [
        ("shard", status.at.as_str()),
        ("keyspace", keyspace),
        ("link", link),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    let mut figures: Vec<Figure> = COUNTS
        .into_iter()
        .map(|(name, help, is_counter, read)| Figure {
            name: name.to_owned(),
            help: help.to_owned(),
            is_counter,
            labels: labels.clone(),
            value: read(&status.counts) as f64,
        })
        .collect();
    let latencies = [
        ("80", status.counts.latency_ms_p80),
        ("95", status.counts.latency_ms_p95),
        ("99", status.counts.latency_ms_p99),
    ];
    for (percent, ms) in latencies {
        let mut labels = labels.clone();
        labels.push(("percent".to_owned(), percent.to_owned()));
        figures.push(Figure {
            name: "dunlin_link_latency_seconds".to_owned(),
            help:
                "From a write to the acknowledgement of the target; so many of 100 took no longer"
                    .to_owned(),
            is_counter: false,
            labels,
            value: ms as f64 / 1e3,
        });
    }
    for state in STATES {
        let mut labels = labels.clone();
        labels.push(("state".to_owned(), state.name().to_owned()));
        figures.push(Figure {
            name: "dunlin_link_state".to_owned(),
            help: "1 for the state that the link is in".to_owned(),
            is_counter: false,
            labels,
            value: f64::from(u8::from(state == status.state)),
        });
    }
    figures
}
