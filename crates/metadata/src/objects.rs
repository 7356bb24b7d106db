//! Everything a metadata store holds, as it stands there: keys and JSON texts, at one revision.
use crate::error::MetadataError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which cluster the store is of.
pub(crate) const CLUSTER: &str = "cluster";
/// Who may use the cluster.
pub(crate) const ACCESS: &str = "access";
/// Which nodes hold data.
pub(crate) const MEMBERS: &str = "members";
/// The last node id given out.
pub(crate) const NODE_COUNTER: &str = "counters/node";
/// The last keyspace id given out.
pub(crate) const KEYSPACE_COUNTER: &str = "counters/keyspace";
pub(crate) const NODES: &str = "nodes/";
pub(crate) const KEYSPACES: &str = "keyspaces/";
pub(crate) const DROPS: &str = "drops/";

pub(crate) fn node_key(name: &str) -> String {
    format!("{NODES}{name}")
}

pub(crate) fn keyspace_key(name: &str) -> String {
    format!("{KEYSPACES}{name}")
}

pub(crate) fn drop_key(id: u32) -> String {
    format!("{DROPS}{id}")
}

/// The value of an object.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, MetadataError> {
    serde_json::to_vec(value).map_err(|error| MetadataError::Damaged {
        place: "memory".to_owned(),
        detail: error.to_string(),
    })
}

/// A value, and at which revision it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub value: Vec<u8>,
    pub written: u64,
}

/// One object to write, or to delete where it is `None`.
pub(crate) type Put = (String, Option<Vec<u8>>);

/// All objects of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Objects {
    /// The store's revision.
    pub revision: u64,
    objects: BTreeMap<String, Object>,
}

impl Objects {
    pub fn at(revision: u64) -> Self {
        Self {
            revision,
            objects: BTreeMap::new(),
        }
    }

    pub fn insert(&mut self, key: impl Into<String>, value: Vec<u8>, written: u64) {
        self.objects.insert(key.into(), Object { value, written });
        self.revision = self.revision.max(written);
    }

    pub fn remove(&mut self, key: &str, revision: u64) {
        self.objects.remove(key);
        self.revision = self.revision.max(revision);
    }

    /// Makes writes that are one change.
    pub fn apply(&mut self, puts: &[Put]) {
        let revision = self.revision + 1;
        for (key, value) in puts {
            match value {
                Some(value) => self.insert(key.clone(), value.clone(), revision),
                None => self.remove(key, revision),
            }
        }
    }

    pub fn get(&self, key: &str) -> Option<&Object> {
        self.objects.get(key)
    }

    /// At which revision the object was written; 0 when there is none.
    pub fn written(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |object| object.written)
    }

    /// At which revision the newest object was written.
    pub fn newest(&self) -> u64 {
        let written = self.objects.values().map(|object| object.written);
        written.max().unwrap_or(0)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    /// The objects whose keys begin with `prefix`, by what follows it.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Object)> {
        let from = self.objects.range(prefix.to_owned()..);
        from.map_while(move |(key, object)| Some((key.strip_prefix(prefix)?, object)))
    }

    /// An object as what it stands for; `None` when there is none, and what is wrong with it when
    /// it cannot be read.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, String>> {
        self.get(key).map(read)
    }

    /// As one JSON text: the content of `metadata.json`.
    pub fn to_document(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut document = Map::new();
        document.insert("revision".to_owned(), self.revision.into());
        for folder in FOLDERS {
            document.insert(folder.to_owned(), Map::new().into());
        }
        // Older versions miss them when they are absent.
        let counters = serde_json::json!({ "node": 0, "keyspace": 0 });
        document.insert("counters".to_owned(), counters);
        for (key, object) in &self.objects {
            let value: Value = serde_json::from_slice(&object.value)?;
            let folder = key.split_once('/').and_then(|(folder, name)| {
                Some((document.get_mut(folder)?.as_object_mut()?, name))
            });
            match folder {
                Some((folder, name)) => folder.insert(name.to_owned(), value),
                None => document.insert(key.clone(), value),
            };
        }
        serde_json::to_vec_pretty(&document)
    }

    /// From the content of `metadata.json`.
    pub fn of_document(content: &[u8]) -> Result<Self, serde_json::Error> {
        let mut document: Map<String, Value> = serde_json::from_slice(content)?;
        let revision = document.remove("revision").unwrap_or_default();
        let mut objects = Self::at(serde_json::from_value(revision)?);
        let written = objects.revision;
        for (field, value) in document {
            if !FOLDERS.contains(&field.as_str()) {
                objects.insert(field, serde_json::to_vec(&value)?, written);
                continue;
            }
            let folder: Map<String, Value> = serde_json::from_value(value)?;
            for (name, value) in folder {
                objects.insert(
                    format!("{field}/{name}"),
                    serde_json::to_vec(&value)?,
                    written,
                );
            }
        }
        Ok(objects)
    }
}

/// Fields of `metadata.json` that hold an object for each name.
const FOLDERS: [&str; 4] = ["nodes", "keyspaces", "counters", "drops"];

pub(crate) fn read<T: DeserializeOwned>(object: &Object) -> Result<T, String> {
    serde_json::from_slice(&object.value).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
