//! Reports of a link's progress to its target, by home.

use std::rc::Rc;

use dunlin_entry::{Version, cluster_number};
use dunlin_metadata::LinkRecord;
use dunlin_node::{Failure, Sabotage, Services};
use dunlin_proto::api::{HexVersion, HomeProgress, Homes, LinkReport};
use hyper::Method;

use crate::answer::{Next, next};
use crate::arrivals::sources;
use crate::home::home_key;
use crate::kept;
use crate::place::cluster_id;
use crate::post::Sender;
use crate::progress::Progress;
use crate::sources::{Arrives, Source, arrives, homes};
use crate::transport::{Answered, Call, Transport};

/// The number of the target's cluster.
pub(crate) fn target_number(link: &LinkRecord) -> u16 {
    cluster_number(u128::from_str_radix(&link.cluster, 16).unwrap_or(0))
}

/// How the entries of other clusters arrive that go over a link, by their keys in its table.
fn others(
    sources: &[Source],
    link: &LinkRecord,
    own: &str,
    before_ms: u64,
) -> Vec<(String, Arrives)> {
    let theirs = target_number(link);
    let goes = |home: &&str| {
        let number = u128::from_str_radix(home, 16).map(cluster_number);
        *home != own && number.is_ok_and(|number| number != theirs)
    };
    let mut all = Vec::new();
    for home in homes(sources).into_iter().filter(goes) {
        let parts = arrives(sources, home, &link.prefix, before_ms);
        all.extend(
            parts
                .into_iter()
                .map(|(part, how)| (home_key(home, part), how)),
        );
    }
    all
}

/// The progress of a link by home. Pure.
pub(crate) fn table(
    (own, partitions): (&str, u16),
    link: &LinkRecord,
    progress: &Progress,
    sources: &[Source],
) -> Homes {
    let delivered = |key: &str| progress.delivered(0..partitions, key).map(HexVersion);
    let own_key = home_key(own, &link.prefix);
    let of_own = HomeProgress {
        since: HexVersion(Version::new(link.created_ms, 0)),
        delivered: delivered(&own_key),
        is_ended: false,
    };
    let mut homes = Homes::from([(own_key, of_own)]);
    for (key, arrives) in others(sources, link, own, u64::MAX) {
        let (since, is_ended) = match arrives {
            Arrives::ByLinks(progress) => (progress.since, progress.is_ended),
            Arrives::NoMore { since, .. } => (since, true),
        };
        let made = link.since_ms.get(&key);
        let made = made.map(|ms| HexVersion(Version::new(*ms, 0)));
        let of_home = HomeProgress {
            since: made.unwrap_or(since),
            delivered: delivered(&key),
            is_ended,
        };
        homes.insert(key, of_home);
    }
    homes
}

/// Up to which version all entries of each home are in this shard's log, where `known` is that of all replicas here. Clocks
/// are up to `bound_ms` apart, and a batch may be logged up to `last_ms` after its link has ended. Pure.
pub(crate) fn logged(
    own: &str,
    link: &LinkRecord,
    sources: &[Source],
    known: Version,
    (bound_ms, last_ms): (u64, u64),
) -> Vec<(String, Version)> {
    let mut logged = vec![(home_key(own, &link.prefix), known)];
    // Reports that arrived before that by every clock.
    let before_ms = known.millis().saturating_sub(bound_ms);
    for (key, arrives) in others(sources, link, own, before_ms) {
        let version = match arrives {
            Arrives::ByLinks(progress) => progress.delivered.map(|version| version.0),
            // As this cluster's own, once the last batch of the links that brought them is logged.
            Arrives::NoMore { ended_ms, .. } => {
                Some(known).filter(|known| known.millis() > ended_ms + last_ms)
            }
        };
        logged.extend(version.map(|version| (key, version)));
    }
    logged
}

/// The progress of a link by home, as it is now.
pub(crate) async fn read_table(
    services: &Rc<Services>,
    keyspace: u32,
    link: &LinkRecord,
) -> Result<Homes, Failure> {
    let sources = sources(services, keyspace).await?;
    let progress = kept::progress(services, keyspace, link.id).await?;
    let partitions = services.partition_count(keyspace).unwrap_or(0);
    let own = cluster_id(services);
    Ok(table((&own, partitions), link, &progress, &sources))
}

/// The tombstone grace that bounds a link, in milliseconds.
pub(crate) fn grace_ms(services: &Services, link: &LinkRecord) -> u64 {
    match services.sabotage() {
        Sabotage::LinkNoAge => u64::MAX,
        _ => link.grace_s.saturating_mul(1_000),
    }
}

/// Sends a report.
pub(crate) async fn post(
    services: &Services,
    transport: &dyn Transport,
    (keyspace, link): (u32, &LinkRecord),
    homes: Homes,
    is_dropped: bool,
) -> Answered {
    let report = LinkReport {
        link: link.id,
        name: link.name.clone(),
        keyspace_id: keyspace,
        cluster: cluster_id(services),
        prefix: link.prefix.clone(),
        homes,
        is_dropped,
    };
    let body = serde_json::to_vec(&report).unwrap_or_default().into();
    let call = Call::of(link, Method::POST, "link-progress", body);
    transport.call(call).await
}

impl Sender {
    /// Reports now; why that does not work, if so.
    pub async fn report(&self) -> Result<(), String> {
        let table = read_table(&self.services, self.keyspace, &self.link).await;
        let homes = table.map_err(|failure| format!("its progress cannot be read: {failure}"))?;
        let transport = &*self.transport;
        let link = (self.keyspace, &self.link);
        match post(&self.services, transport, link, homes, false).await {
            Ok((200, _)) => Ok(()),
            Ok((status, body)) => match next(status, &body) {
                Next::Again(trouble)
                | Next::Report(trouble)
                | Next::Restart(trouble)
                | Next::Stop(trouble) => Err(trouble.line),
                Next::GoOn(_) => Ok(()),
            },
            Err(line) => Err(line),
        }
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
