//! The progress of a link, out of the records that its shards keep. Pure.
//!
//! A record stays true for ever, so all that speak of a partition hold: a position is acknowledged if any of them says
//! so. A record that is read late only says less.

use std::collections::BTreeMap;

use dunlin_entry::{Vector, Version};
use dunlin_proto::{Token, Within};
use serde::{Deserialize, Serialize};

/// Up to which time all that a home made is on a majority at the target, by the home's cluster id in 32 digits.
pub(crate) type Delivered = BTreeMap<String, Version>;

/// The record of a link by one shard, in `_system`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Up to where each partition is acknowledged; partitions of other shards, too, as far as was known.
    token: String,
    /// The partitions that the shard sends.
    leads: Vec<u16>,
    /// The delivered versions of each partition, grouped.
    delivered: Vec<DeliveredOf>,
    /// When it was written, in milliseconds since 1970.
    committed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DeliveredOf {
    partitions: Vec<u16>,
    /// 16 hexadecimal digits each.
    delivered: BTreeMap<String, String>,
}

/// The progress of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Progress {
    /// Up to where each partition is acknowledged.
    vectors: BTreeMap<u16, Vector>,
    /// Where it stands within a snapshot, and when that was written.
    within: BTreeMap<u16, (Option<Within>, u64)>,
    delivered: BTreeMap<u16, Delivered>,
}

impl Progress {
    /// Of all records of a link. A damaged record says nothing; its error is returned.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> (Progress, Vec<String>) {
        let (mut progress, mut damaged) = (Progress::default(), Vec::new());
        for record in records {
            match record.token.parse::<Token>() {
                Ok(token) => progress.add(record, &token),
                Err(error) => damaged.push(error.to_string()),
            }
        }
        (progress, damaged)
    }

    fn add(&mut self, record: &Record, token: &Token) {
        for (partition, vector) in token.vectors() {
            self.vectors.entry(partition).or_default().merge(vector);
        }
        for partition in &record.leads {
            let at = (token.within(*partition).cloned(), record.committed_ms);
            let known = self.within.entry(*partition).or_insert_with(|| at.clone());
            if known.1 < at.1 {
                *known = at;
            }
        }
        for of in &record.delivered {
            for partition in &of.partitions {
                for (home, text) in &of.delivered {
                    if let Ok(version) = u64::from_str_radix(text, 16) {
                        self.deliver(*partition, home, Version(version));
                    }
                }
            }
        }
    }

    /// Where these partitions go on. One that no record names begins at the beginning.
    pub fn token(&self, cluster: u128, keyspace: u32, partitions: &[u16]) -> Token {
        let vector = |p: &u16| (*p, self.vectors.get(p).cloned().unwrap_or_default());
        let vectors = partitions.iter().map(vector);
        let mut token = Token::new(cluster, keyspace, None, vectors);
        for partition in partitions {
            let within = self.within.get(partition).and_then(|(at, _)| at.clone());
            token.set_within(*partition, within);
        }
        token
    }

    /// Up to where a partition is acknowledged.
    pub fn vector(&self, partition: u16) -> Option<&Vector> {
        self.vectors.get(&partition)
    }

    /// All that a token names is acknowledged. Earlier positions stay so, whatever the token has forgotten.
    pub fn advance(&mut self, token: &Token, now_ms: u64) {
        for (partition, vector) in token.vectors() {
            self.vectors.entry(partition).or_default().merge(vector);
            let within = token.within(partition).cloned();
            self.within.insert(partition, (within, now_ms));
        }
    }

    /// All that a home made up to then of a partition is acknowledged.
    pub fn deliver(&mut self, partition: u16, home: &str, version: Version) {
        let delivered = self.delivered.entry(partition).or_default();
        let known = delivered.entry(home.to_owned()).or_default();
        *known = version.max(*known);
    }

    /// The version up to which a home is delivered for all of these partitions.
    pub fn delivered(
        &self,
        partitions: impl IntoIterator<Item = u16>,
        home: &str,
    ) -> Option<Version> {
        let of = |partition| self.delivered.get(&partition)?.get(home).copied();
        let all: Option<Vec<Version>> = partitions.into_iter().map(of).collect();
        all?.into_iter().min()
    }

    /// The record of the shard that sends `leads`.
    pub fn record(&self, cluster: u128, keyspace: u32, leads: &[u16], now_ms: u64) -> Record {
        let all: Vec<u16> = self.vectors.keys().copied().collect();
        let mut token = self.token(cluster, keyspace, &all);
        for partition in all.iter().filter(|p| !leads.contains(p)) {
            token.set_within(*partition, None);
        }
        let mut delivered: Vec<DeliveredOf> = Vec::new();
        for (partition, of) in &self.delivered {
            let texts = of.iter();
            let texts = texts.map(|(home, at)| (home.clone(), format!("{:016x}", at.0)));
            let texts: BTreeMap<String, String> = texts.collect();
            match delivered.iter_mut().find(|group| group.delivered == texts) {
                Some(group) => group.partitions.push(*partition),
                None => delivered.push(DeliveredOf {
                    partitions: vec![*partition],
                    delivered: texts,
                }),
            }
        }
        Record {
            token: token.to_string(),
            leads: leads.to_vec(),
            delivered,
            committed_ms: now_ms,
        }
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
