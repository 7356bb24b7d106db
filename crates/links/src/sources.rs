//! The links from other clusters to a keyspace, together: the homes whose entries have arrived here, and up to when all of
//! them have. A link onwards sends those entries, too. Pure.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_entry::{Version, cluster_number};
use dunlin_proto::api::{HexVersion, HomeProgress, InboundLink, LinkState};

use crate::age::{self, Age};
use crate::home::{home_key, home_of};
use crate::inbound::Inbound;

/// A link from another cluster.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Id of the sender's cluster.
    pub cluster: String,
    /// Number of the link at the sender.
    pub link: u32,
    pub inbound: Inbound,
}

impl Source {
    /// As it is shown.
    pub fn status(&self, keyspace: &str, now_ms: u64, grace_ms: u64) -> InboundLink {
        let (inbound, checked) = self.inbound.clone().check(&self.cluster, now_ms, grace_ms);
        let home = checked.home.as_deref().unwrap_or(&self.cluster);
        let age_s = checked.age_ms / 1_000;
        let (state, why) = match checked.age {
            _ if inbound.is_dropped() => (LinkState::Broken, Some("it is dropped: entries that come over it are refused".to_owned())),
            Age::Broken => (LinkState::Broken, Some("not all arrived for most of the tombstone grace, and deletes may be forgotten: drop it and this keyspace, and make both anew".to_owned())),
            Age::Late => (LinkState::Late, Some(format!("the entries of cluster {home} have arrived only up to {age_s} s ago"))),
            Age::Good => (LinkState::Current, None),
        };
        InboundLink {
            name: inbound.name.clone(),
            keyspace: keyspace.to_owned(),
            cluster: self.cluster.clone(),
            link: self.link,
            prefix: inbound.prefix.clone(),
            state,
            is_dropped: inbound.is_dropped(),
            why,
            age_s,
            homes: inbound.homes().clone(),
        }
    }
}

/// How entries of a home arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrives {
    /// By links: all up to the delivered version have.
    ByLinks(HomeProgress),
    /// No more since then, for all links that brought them are dropped or broken.
    NoMore { since: HexVersion, ended_ms: u64 },
}

/// The clusters whose entries have arrived.
pub(crate) fn homes(sources: &[Source]) -> BTreeSet<&str> {
    let all = sources.iter().flat_map(|source| source.inbound.homes());
    all.map(|(key, _)| home_of(key).0).collect()
}

/// A part of a home's entries, those whose keys begin with a prefix, as one link brings it.
struct Section<'s> {
    source: &'s Source,
    key: &'s str,
    prefix: &'s str,
    progress: &'s HomeProgress,
}

impl Section<'_> {
    fn is_live(&self) -> bool {
        self.source.inbound.ended_ms().is_none()
    }
}

/// The longer of two prefixes, if one begins with the other.
fn overlap<'p>(a: &'p str, b: &'p str) -> Option<&'p str> {
    if a.starts_with(b) {
        Some(a)
    } else {
        b.starts_with(a).then_some(b)
    }
}

/// How the entries of a home arrive whose keys begin with `prefix`: by the prefixes of the parts in which they do.
pub(crate) fn arrives<'s>(
    sources: &'s [Source],
    home: &str,
    prefix: &'s str,
    before_ms: u64,
) -> BTreeMap<&'s str, Arrives> {
    let mut parts = Vec::new();
    for source in sources {
        for (key, progress) in source.inbound.homes() {
            let (of, brought) = home_of(key);
            if let Some(prefix) = overlap(brought, prefix).filter(|_| of == home) {
                parts.push(Section {
                    source,
                    key,
                    prefix,
                    progress,
                });
            }
        }
    }
    let prefixes: BTreeSet<&str> = parts.iter().map(|part| part.prefix).collect();
    let of = |prefix| Some((prefix, part_arrives(&parts, prefix, before_ms)?));
    prefixes.into_iter().filter_map(of).collect()
}

fn part_arrives(parts: &[Section<'_>], prefix: &str, before_ms: u64) -> Option<Arrives> {
    let (live, ended): (Vec<&Section<'_>>, Vec<&Section<'_>>) = parts
        .iter()
        .filter(|part| prefix.starts_with(part.prefix))
        .partition(|part| part.is_live());
    if live.is_empty() {
        let ended_ms = ended.iter().filter_map(|p| p.source.inbound.ended_ms());
        return Some(Arrives::NoMore {
            since: ended.iter().map(|part| part.progress.since).min()?,
            ended_ms: ended_ms.max()?,
        });
    }
    // Each says the truth by itself, so the greatest counts. Clusters in a ring would wait for each other for the least.
    let whole = live.iter().filter(|part| !part.progress.is_ended);
    let whole: Vec<&&Section<'_>> = whole.collect();
    let is_ended = whole.is_empty();
    let counting = if is_ended {
        live.iter().collect()
    } else {
        whole
    };
    let delivered = counting
        .iter()
        .filter_map(|part| part.source.inbound.delivered(part.key, before_ms));
    // Entries may still come by any link.
    let coming = parts.iter().filter(|part| part.is_live());
    let coming = coming.filter(|part| overlap(part.prefix, prefix).is_some());
    Some(Arrives::ByLinks(HomeProgress {
        since: coming.map(|part| part.progress.since).min()?,
        delivered: delivered.max().map(HexVersion),
        is_ended,
    }))
}

/// When the age of each home begins at a link that is made now, in milliseconds since 1970.
pub(crate) fn since_ms(sources: &[Source], prefix: &str, now_ms: u64) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for home in homes(sources) {
        for (part, arrives) in arrives(sources, home, prefix, u64::MAX) {
            let since_ms = match arrives {
                Arrives::ByLinks(progress) => {
                    let delivered = progress.delivered.unwrap_or_default();
                    delivered.max(progress.since).0.millis()
                }
                // Nothing is still to come.
                Arrives::NoMore { .. } => now_ms,
            };
            all.insert(home_key(home, part), since_ms);
        }
    }
    all
}

/// Up to which version the entries of a cluster have arrived whose keys begin as this one does; none where no link brings
/// them.
pub(crate) fn arrived(sources: &[Source], number: u16, key: &[u8]) -> Option<Version> {
    let live = sources.iter().filter(|s| s.inbound.ended_ms().is_none());
    let of = |source: &Source| {
        let brings = source.inbound.homes().iter().filter(|(home, progress)| {
            let (home, prefix) = home_of(home);
            let of = u128::from_str_radix(home, 16).map(cluster_number);
            !progress.is_ended && of == Ok(number) && key.starts_with(prefix.as_bytes())
        });
        let delivered = brings.map(|(home, _)| source.inbound.delivered(home, u64::MAX));
        delivered.map(Option::unwrap_or_default).max()
    };
    live.filter_map(of).max()
}

/// The first home of a keyspace with records at `target` whose entries have not all arrived here, or not lately.
pub(crate) fn lacking<'h>(
    sources: &[Source],
    (ours, target): (&str, &str),
    theirs: &'h [String],
    (now_ms, grace_ms): (u64, u64),
) -> Option<&'h str> {
    let is_named = |home: &str| {
        let brings_all = |source: &&Source| {
            let progress = source.inbound.homes().get(home);
            // Of what the target itself has of a home, all comes.
            let is_all = source.cluster == target || progress.is_some_and(|p| !p.is_ended);
            is_all && source.inbound.ended_ms().is_none()
        };
        let is_young = |source: &Source| {
            let delivered = source.inbound.delivered(home, u64::MAX);
            delivered.is_some_and(|version| {
                let age_ms = now_ms.saturating_sub(version.millis());
                age::of(age_ms, grace_ms, true) == Age::Good
            })
        };
        sources.iter().filter(brings_all).any(is_young)
    };
    let mut others = theirs.iter().filter(|home| *home != ours);
    others.find(|home| !is_named(home)).map(String::as_str)
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
