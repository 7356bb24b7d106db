//! A keyspace and how it is kept.
use crate::error::MetadataError;
use crate::link_record::{LinkChange, LinkRecord, changed};
use crate::node::check_name;
use crate::range::RangeRecord;
use crate::retention::Retention;
use crate::sync::Sync;
use crate::view_record::ViewRecord;
use serde::{Deserialize, Serialize};

/// How a keyspace's replicas agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Any replica takes writes; the newest version wins.
    #[default]
    Quorum,
    /// Replicas agree on an order before they write: each key is a register.
    Transactional,
}

/// What the user chooses when a keyspace is made. Fields left out have their default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyspaceSettings {
    /// How its replicas agree.
    pub mode: Mode,
    /// How many nodes hold each key, 1 to 16.
    pub replicas: u8,
    /// Into how many slices its keys are hashed, a power of two, 1 to 4,096.
    pub partitions: u16,
    /// When a replica syncs its log to disk.
    pub sync: Sync,
    /// For how many seconds a delete is remembered, at most 100 years. A replica that was away
    /// for longer than this is filled anew, or it could bring the key back.
    pub tombstone_grace_s: u64,
    /// Keys at which a transactional keyspace is cut into ranges, ascending: each begins another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split_at: Vec<String>,
}

impl Default for KeyspaceSettings {
    /// Three replicas, 64 partitions, synced always, deletes remembered for ten days.
    fn default() -> Self {
        Self {
            mode: Mode::Quorum,
            replicas: 3,
            partitions: 64,
            sync: Sync::Always,
            tombstone_grace_s: 86_400 * 10,
            split_at: Vec::new(),
        }
    }
}

/// The most copies a keyspace keeps of each key.
pub const REPLICAS_MAX: u8 = 16;
/// The most slices a keyspace's keys are hashed into.
pub const PARTITIONS_MAX: u16 = 4096;
/// Bytes of a key at which a keyspace is cut.
const SPLIT_KEY_BYTES_MAX: usize = 1024;
/// The most ranges a transactional keyspace is cut into when it is made.
pub const RANGES_MAX: usize = 1024;
const TOMBSTONE_GRACE_S_MAX: u64 = 100 * 366 * 86_400;

impl KeyspaceSettings {
    /// Checks every setting against its limits; the error names the first that breaks one.
    pub fn check(&self) -> Result<(), MetadataError> {
        let invalid = |what: String, rule: &str| Err(MetadataError::invalid(what, rule));
        if self.mode == Mode::Transactional {
            if !matches!(self.replicas, 1 | 3 | 5) {
                let what = format!("replicas {}", self.replicas);
                return invalid(what, "must be 1, 3 or 5 in mode transactional");
            }
            if self.sync != Sync::Always {
                let what = format!("sync {}", self.sync);
                return invalid(what, "must be always in mode transactional");
            }
        }
        self.check_split()?;
        if self.replicas == 0 || self.replicas > REPLICAS_MAX {
            let rule = format!("must be from 1 to {REPLICAS_MAX}");
            return invalid(format!("replicas {}", self.replicas), &rule);
        }
        if !self.partitions.is_power_of_two() || self.partitions > PARTITIONS_MAX {
            let rule = format!("must be a power of two from 1 to {PARTITIONS_MAX}");
            return invalid(format!("partitions {}", self.partitions), &rule);
        }
        if !self.sync.is_valid() {
            return invalid(
                format!("sync {}", self.sync),
                "interval must be 1 to 60000 ms",
            );
        }
        if self.tombstone_grace_s > TOMBSTONE_GRACE_S_MAX {
            let what = format!("tombstone_grace_s {}", self.tombstone_grace_s);
            return invalid(what, &format!("must be at most {TOMBSTONE_GRACE_S_MAX}"));
        }
        Ok(())
    }

    fn check_split(&self) -> Result<(), MetadataError> {
        let keys = &self.split_at;
        let is_ascending = keys.windows(2).all(|pair| pair[0] < pair[1]);
        let rule = match self.mode {
            Mode::Quorum if !keys.is_empty() => "is for mode transactional",
            _ if keys.len() >= RANGES_MAX => "has too many keys: at most 1023",
            _ if keys.iter().any(String::is_empty) => "must not name an empty key",
            _ if keys.iter().any(|key| key.len() > SPLIT_KEY_BYTES_MAX) => {
                "must name keys of at most 1024 bytes"
            }
            _ if !is_ascending => "must name keys in ascending order, each once",
            _ => return Ok(()),
        };
        Err(MetadataError::invalid("split_at".to_owned(), rule))
    }
}

/// A named set of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyspace {
    /// From 1; never given out again, even after a drop.
    pub id: u32,
    /// The name that the user chose.
    pub name: String,
    /// How it is kept.
    pub settings: KeyspaceSettings,
    /// The greatest `from` that a write has asked for, the replicas at least. Only grows. 0 where
    /// nobody has noted it: see [`Keyspace::is_counted`].
    pub widest: u8,
    /// Up to which `widest` every member has said that it knows of it. Only grows.
    pub known: u8,
    /// How often a drop of it was taken back. Only grows: a store that has less is an old copy,
    /// and so may be a drop that it tells of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undrops: u32,
    /// What of the log is kept for its followers.
    #[serde(default, skip_serializing_if = "Retention::is_empty")]
    pub retention: Retention,
    /// Its views, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<ViewRecord>,
    /// The last id given to one of its views. Only grows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub views_made: u32,
    /// What other clusters get of it, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkRecord>,
    /// The last id given to one of its links. Only grows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links_made: u32,
    /// Its ranges in the order of their keys, where it is transactional.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeRecord>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Keyspace {
    /// One that nothing has been written to.
    pub fn new(id: u32, name: &str, settings: KeyspaceSettings) -> Self {
        let replicas = settings.replicas;
        Self {
            id,
            name: name.to_owned(),
            settings,
            widest: replicas,
            known: replicas,
            undrops: 0,
            retention: Retention::default(),
            views: Vec::new(),
            views_made: 0,
            links: Vec::new(),
            links_made: 0,
            ranges: Vec::new(),
        }
    }

    /// The keyspace after a change of its links.
    pub(crate) fn with_links(&self, change: &LinkChange) -> Result<Keyspace, MetadataError> {
        if let LinkChange::Create(link) = change {
            check_name("link name", &link.name)?;
        }
        let (links, links_made) = changed((&self.links, self.links_made), change)?;
        Ok(Keyspace {
            links,
            links_made,
            ..self.clone()
        })
    }

    /// By how many of a partition's replicas all that is written is stored.
    pub fn width(&self) -> u8 {
        self.settings.replicas.max(self.widest)
    }

    /// Whether nothing was ever written with a `from` above [`Keyspace::known`]. Nobody can say so
    /// of a keyspace made by a version that did not note it.
    pub fn is_counted(&self) -> bool {
        self.known > 0
    }

    /// Whether a write with this `from` may be stamped as things are. Else every member is to know
    /// of it first.
    pub fn takes(&self, from: u8) -> bool {
        !self.is_counted() || from <= self.known
    }

    /// What becomes of it when a write asks for `widest`, and every member knows of `known`.
    pub fn widened(&self, widest: u8, known: u8) -> Self {
        let widest = self.widest.max(widest);
        let known = if self.is_counted() {
            self.known.max(known.min(widest))
        } else {
            0
        };
        Self {
            widest,
            known,
            ..self.clone()
        }
    }
}

/// Checks the name and settings of a keyspace to be made.
pub(crate) fn check_keyspace(name: &str, settings: &KeyspaceSettings) -> Result<(), MetadataError> {
    check_name("keyspace name", name)?;
    // Clients of HTTP take `.` and `..` in a path for directions, and a command takes what begins with
    // a dash for a flag.
    if name == "." || name == ".." || name.starts_with('-') {
        return Err(MetadataError::invalid(
            format!("keyspace name {name:?}"),
            "must not be . or .., or begin with -",
        ));
    }
    settings.check()
}

#[cfg(test)]
#[path = "keyspace_tests.rs"]
mod tests;
