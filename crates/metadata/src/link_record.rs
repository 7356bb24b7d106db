//! Links of a keyspace, as its record names them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most links of a keyspace.
pub const LINKS_MAX: usize = 32;
/// The most addresses of another cluster.
const ADDRESSES_MAX: usize = 32;
/// The longest address, login or prefix, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// A link: what another cluster's keyspace gets of this one. It names no secret: logins are in a file of each node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Among all links that the keyspace has had.
    pub id: u32,
    /// The name that the user chose, one in the cluster.
    pub name: String,
    /// Servers of the other cluster, `http://HOST:PORT` each.
    pub to: Vec<String>,
    /// Name of the keyspace there.
    pub keyspace: String,
    /// Its number there: one of the same name that is made later is another.
    pub keyspace_id: u32,
    /// Id of the other cluster, 32 hexadecimal digits.
    pub cluster: String,
    /// Keys that begin with this are sent; all, where it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Bytes of keys and values a second that are sent at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_s: Option<u64>,
    /// Name of a login in the file of each node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Nothing is sent for now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Since when nothing may be sent over it any more, in milliseconds since 1970. Never taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_ms: Option<u64>,
    /// The smaller tombstone grace of the two keyspaces, in seconds: how long it may go without an acknowledgement depends
    /// on that.
    pub grace_s: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Of other clusters whose entries it sends on: up to when all of them were here when it was made, in milliseconds since
    /// 1970, by the cluster's id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub since_ms: BTreeMap<String, u64>,
}

/// A change of a keyspace's links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkChange {
    /// Make one; its id is given to it.
    Create(LinkRecord),
    /// Change the one of this name.
    Alter(String, LinkSettings),
    /// The one with this id is broken since then.
    Break(u32, u64),
    /// Drop the one of this name.
    Drop(String),
}

/// The settings of a link that can be changed. One that is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSettings {
    /// See [`LinkRecord::paused`].
    pub paused: Option<bool>,
    /// See [`LinkRecord::to`].
    pub to: Option<Vec<String>>,
    /// See [`LinkRecord::limit_bytes_per_s`]; 0 takes the limit away.
    pub limit_bytes_per_s: Option<u64>,
    /// See [`LinkRecord::login`]; an empty name takes it away.
    pub login: Option<String>,
}

/// Why links are not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkRefusal {
    /// There is none of this name.
    Missing(String),
    /// There is one of this name.
    Exists(String),
    /// All ids were given out.
    Exhausted,
    /// The link of this name breaks this rule.
    Rule(String, &'static str),
}

/// The links of a keyspace, and the last id given to one of them.
pub(crate) type Links = (Vec<LinkRecord>, u32);

/// The links after a change. Pure.
pub(crate) fn changed(
    (links, made): (&[LinkRecord], u32),
    change: &LinkChange,
) -> Result<Links, LinkRefusal> {
    let mut links = links.to_vec();
    let before = links.len();
    let mut made = made;
    match change {
        LinkChange::Create(link) => {
            check(link)?;
            made = made.checked_add(1).ok_or(LinkRefusal::Exhausted)?;
            if links.iter().any(|other| other.name == link.name) {
                return Err(LinkRefusal::Exists(link.name.clone()));
            }
            if links.len() >= LINKS_MAX {
                let name = link.name.clone();
                return Err(LinkRefusal::Rule(name, "a keyspace has at most 32"));
            }
            links.push(LinkRecord {
                id: made,
                ..link.clone()
            });
            links.sort_by(|a, b| a.name.cmp(&b.name));
        }
        LinkChange::Alter(name, settings) => {
            let link = links.iter_mut().find(|link| link.name == *name);
            let link = link.ok_or_else(|| LinkRefusal::Missing(name.clone()))?;
            link.set(settings);
            check(link)?;
        }
        LinkChange::Break(id, at_ms) => {
            if let Some(link) = links.iter_mut().find(|link| link.id == *id) {
                link.broken_ms.get_or_insert(*at_ms);
            }
        }
        LinkChange::Drop(name) => {
            links.retain(|link| link.name != *name);
            if links.len() == before {
                return Err(LinkRefusal::Missing(name.clone()));
            }
        }
    }
    Ok((links, made))
}

impl LinkRecord {
    fn set(&mut self, settings: &LinkSettings) {
        if let Some(paused) = settings.paused {
            self.paused = paused;
        }
        if let Some(to) = &settings.to {
            self.to.clone_from(to);
        }
        if let Some(limit) = settings.limit_bytes_per_s {
            self.limit_bytes_per_s = Some(limit).filter(|limit| *limit > 0);
        }
        if let Some(login) = &settings.login {
            self.login = Some(login.clone()).filter(|login| !login.is_empty());
        }
    }
}

fn check(link: &LinkRecord) -> Result<(), LinkRefusal> {
    let wrong = |rule| Err(LinkRefusal::Rule(link.name.clone(), rule));
    if link.name == "." || link.name == ".." || link.name.starts_with('-') {
        return wrong("its name must not be . or .., or begin with -");
    }
    if link.to.is_empty() || link.to.len() > ADDRESSES_MAX {
        return wrong("it has from 1 to 32 addresses of servers");
    }
    let login = link.login.iter();
    let texts = link.to.iter().chain(login).chain([&link.prefix]);
    if texts.into_iter().any(|text| text.len() > TEXT_BYTES_MAX) {
        return wrong("an address, a login and a prefix have at most 1024 bytes");
    }
    Ok(())
}

#[cfg(test)]
#[path = "link_record_tests.rs"]
mod tests;
