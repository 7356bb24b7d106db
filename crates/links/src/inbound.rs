//! A link from another cluster, as its receiver keeps it: the receiver checks its age by its own clock, whatever the
//! sender says. Pure.

use std::collections::BTreeMap;

use dunlin_entry::Version;
use serde::{Deserialize, Serialize};

use crate::age::{self, Age, age_ms};

/// Tables that are kept.
const TABLES: usize = 4;

/// The record of a link in `_system` of its receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Inbound {
    /// Its name at the sender; empty before the sender's first report.
    name: String,
    /// When its first batch arrived, in milliseconds since 1970.
    created_ms: u64,
    /// Since when it is broken. Never taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_ms: Option<u64>,
    /// The last reports, in their order.
    tables: Vec<Table>,
}

/// What the sender has reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Table {
    /// Up to which version each home is delivered: 16 hexadecimal digits.
    delivered: BTreeMap<String, String>,
    /// When the report arrived, in milliseconds since 1970.
    seen_ms: u64,
}

impl Inbound {
    /// A link whose first batch has arrived.
    pub fn new(now_ms: u64) -> Inbound {
        Inbound {
            created_ms: now_ms,
            ..Inbound::default()
        }
    }

    /// The record after a report. A late report takes nothing back.
    pub fn report(
        mut self,
        name: &str,
        delivered: &BTreeMap<String, Version>,
        now_ms: u64,
    ) -> Inbound {
        let mut table = Table {
            delivered: self.last().cloned().unwrap_or_default(),
            seen_ms: now_ms,
        };
        for (home, version) in delivered {
            let text = format!("{:016x}", version.0);
            let known = table.delivered.entry(home.clone()).or_default();
            // Numbers of one length compare as text.
            if *known < text {
                *known = text;
            }
        }
        name.clone_into(&mut self.name);
        self.tables.push(table);
        let more = self.tables.len().saturating_sub(TABLES);
        self.tables.drain(..more);
        self
    }

    fn last(&self) -> Option<&BTreeMap<String, String>> {
        Some(&self.tables.last()?.delivered)
    }

    /// Its age, and the record after the check; `grace_ms` is the tombstone grace of the receiver.
    pub fn check(mut self, now_ms: u64, grace_ms: u64) -> (Inbound, Age) {
        let versions = self.last().into_iter().flatten();
        let versions = versions.map(|(_, text)| u64::from_str_radix(text, 16).ok().map(Version));
        let age_ms = age_ms(now_ms, self.created_ms, versions);
        let mut age = age::of(age_ms, grace_ms);
        if self.broken_ms.is_some() {
            age = Age::Broken;
        } else if age == Age::Broken {
            self.broken_ms = Some(now_ms);
        }
        (self, age)
    }
}

#[cfg(test)]
#[path = "inbound_tests.rs"]
mod tests;
