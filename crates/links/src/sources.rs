//! The links from other clusters to a keyspace, together: the homes whose entries have arrived here, and up to when all of
//! them have. A link onwards sends those entries, too. Pure.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_entry::Version;
use dunlin_proto::api::{HexVersion, HomeProgress, InboundLink, LinkState};

use crate::age::{self, Age};
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
    pub fn shown(&self, keyspace: &str, now_ms: u64, grace_ms: u64) -> InboundLink {
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
            why,
            age_s,
            homes: inbound.homes().clone(),
        }
    }
}

/// The time of a question about sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub now_ms: u64,
    /// The tombstone grace here.
    pub grace_ms: u64,
    /// Only reports that arrived before this count.
    pub before_ms: u64,
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
    all.map(|(home, _)| home.as_str()).collect()
}

/// How the entries of a home arrive whose keys begin with `prefix`.
pub(crate) fn arrives(sources: &[Source], home: &str, prefix: &str, at: Moment) -> Option<Arrives> {
    let bringing = |source: &&Source| source.inbound.homes().contains_key(home);
    let overlaps = |source: &&Source| {
        let theirs = &source.inbound.prefix;
        theirs.starts_with(prefix) || prefix.starts_with(theirs.as_str())
    };
    let all: Vec<&Source> = sources.iter().filter(bringing).filter(overlaps).collect();
    let is_live = |source: &&&Source| source.inbound.ended_ms().is_none();
    let live: Vec<&Source> = all.iter().filter(is_live).copied().collect();
    let since = |of: &[&Source]| {
        let since = of
            .iter()
            .filter_map(|source| source.inbound.homes().get(home));
        since.map(|progress| progress.since).min()
    };
    if live.is_empty() {
        let ended_ms = all.iter().filter_map(|source| source.inbound.ended_ms());
        return Some(Arrives::NoMore {
            since: since(&all)?,
            ended_ms: ended_ms.max()?,
        });
    }
    let is_whole = |source: &&&Source| {
        let progress = source.inbound.homes().get(home);
        let is_partial = progress.is_none_or(|progress| progress.is_partial);
        !is_partial && prefix.starts_with(&source.inbound.prefix)
    };
    let whole: Vec<&Source> = live.iter().filter(is_whole).copied().collect();
    let is_partial = whole.is_empty();
    let counting = if is_partial { live } else { whole };
    // Each says the truth by itself. The least of several counts, but one that is late does not hold the others up: else
    // one line that is cut would break all links of a mesh.
    let is_good = |source: &&&Source| {
        let progress = source.inbound.homes().get(home);
        let age_ms = progress.map_or(u64::MAX, |p| age::home_age_ms(at.now_ms, p));
        age::of(age_ms, at.grace_ms, true) == Age::Good
    };
    let good: Vec<&Source> = counting.iter().filter(is_good).copied().collect();
    let counting = if good.is_empty() { counting } else { good };
    let delivered = counting
        .iter()
        .map(|source| source.inbound.delivered(home, at.before_ms));
    // None is the least.
    let delivered: Option<Version> = delivered.min()?;
    Some(Arrives::ByLinks(HomeProgress {
        since: since(&counting)?,
        delivered: delivered.map(HexVersion),
        is_partial,
    }))
}

/// When the age of each home begins at a link that is made now, in milliseconds since 1970.
pub(crate) fn since_ms(sources: &[Source], prefix: &str, at: Moment) -> BTreeMap<String, u64> {
    let of = |home: &str| match arrives(sources, home, prefix, at)? {
        Arrives::ByLinks(progress) => {
            let delivered = progress.delivered.unwrap_or_default();
            Some((home.to_owned(), delivered.max(progress.since).0.millis()))
        }
        // Nothing is still to come.
        Arrives::NoMore { .. } => Some((home.to_owned(), at.now_ms)),
    };
    homes(sources).into_iter().filter_map(of).collect()
}

/// The first home of a keyspace with records at `target` whose entries have not all arrived here, or not lately.
pub(crate) fn lacking<'h>(
    sources: &[Source],
    (ours, target): (&str, &str),
    theirs: &'h [String],
    at: Moment,
) -> Option<&'h str> {
    let is_named = |home: &str| {
        let brings_all = |source: &&Source| {
            let inbound = &source.inbound;
            let progress = inbound.homes().get(home);
            // Of what the target itself has of a home, all comes.
            let is_all = source.cluster == target || progress.is_some_and(|p| !p.is_partial);
            is_all && inbound.prefix.is_empty() && inbound.ended_ms().is_none()
        };
        let is_young = |source: &Source| {
            let delivered = source.inbound.delivered(home, u64::MAX);
            delivered.is_some_and(|version| {
                let age_ms = at.now_ms.saturating_sub(version.millis());
                age::of(age_ms, at.grace_ms, true) == Age::Good
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
