//! A transaction as JSON: what a client sends, and what it is sent. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_node::http::put_bytes;
use dunlin_proto::Condition;
use dunlin_txn::{Id, ORIGIN};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a client's name for a transaction.
const ID_BYTES_MAX: usize = 128;

/// What a client sends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    #[serde(default)]
    reads: Vec<SentRead>,
    #[serde(default)]
    checks: Vec<SentCheck>,
    #[serde(default)]
    writes: Vec<SentWrite>,
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentRead {
    keyspace: String,
    key: Option<String>,
    key_base64: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentCheck {
    keyspace: String,
    key: Option<String>,
    key_base64: Option<String>,
    version: Option<String>,
    exists: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentWrite {
    keyspace: String,
    key: Option<String>,
    key_base64: Option<String>,
    value: Option<String>,
    value_base64: Option<String>,
    #[serde(default)]
    delete: bool,
    add: Option<i64>,
}

/// A key of a keyspace, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub keyspace: Arc<str>,
    pub key: Bytes,
}

/// A key with its new value; none deletes it, or is still to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    pub place: Place,
    pub value: Option<Bytes>,
}

/// A transaction.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub reads: Vec<Place>,
    pub checks: Vec<(Place, Condition)>,
    pub writes: Vec<Write>,
    /// Numbers to add to the values of keys, by the index of their writes.
    pub adds: Vec<(usize, i64)>,
    /// What its client calls it.
    pub id: Option<Id>,
}

/// A key's value and version, where it has one.
pub(crate) type Found = Option<(Version, Bytes)>;

impl Write {
    /// Bytes of key and value.
    pub fn size(&self) -> usize {
        self.place.key.len() + self.value.as_ref().map_or(0, Bytes::len)
    }
}

impl Body {
    /// Keys that it names.
    pub fn keys(&self) -> usize {
        self.reads.len() + self.checks.len() + self.writes.len()
    }

    /// The keyspaces that it names.
    pub fn keyspaces(&self) -> BTreeSet<&str> {
        let checked = self.checks.iter().map(|(place, _)| place);
        let written = self.writes.iter().map(|write| &write.place);
        let places = self.reads.iter().chain(checked).chain(written);
        places.map(|place| &*place.keyspace).collect()
    }

    /// Reads it; the error says what is wrong, and where.
    pub fn parse(bytes: &[u8], key_bytes_max: usize) -> Result<Body, String> {
        let sent: Sent = serde_json::from_slice(bytes)
            .map_err(|error| format!("the body does not describe a transaction: {error}"))?;
        if sent.reads.is_empty() && sent.checks.is_empty() && sent.writes.is_empty() {
            return Err("the transaction is empty: name reads, checks or writes".to_owned());
        }
        let place = |what: &str, number: usize, keyspace: String, key, encoded: Option<String>| {
            let key = bytes_of("key", key, encoded);
            let key = key.and_then(|key| check_key(&key, key_bytes_max).map(|()| key));
            let key = key.map_err(|why| format!("{what}[{number}]: {why}"))?;
            let keyspace = keyspace.into();
            Ok::<_, String>(Place { keyspace, key })
        };
        let id = sent.id.map(|name| id_of(name, bytes)).transpose()?;
        if id.is_some() && sent.writes.is_empty() {
            return Err("a transaction without writes needs no id: leave it out".to_owned());
        }
        let mut body = Body {
            id,
            ..Body::default()
        };
        let mut read_once = BTreeSet::new();
        for (number, read) in sent.reads.into_iter().enumerate() {
            let place = place("reads", number, read.keyspace, read.key, read.key_base64)?;
            if read_once.insert(place.clone()) {
                body.reads.push(place);
            }
        }
        for (number, check) in sent.checks.into_iter().enumerate() {
            let place = place(
                "checks",
                number,
                check.keyspace,
                check.key,
                check.key_base64,
            )?;
            let holds = match (check.version, check.exists) {
                (Some(version), None) => version.parse().map(Condition::Is).map_err(|error| {
                    format!("checks[{number}]: version {version:?} is not one: {error}")
                })?,
                (None, Some(true)) => Condition::Present,
                (None, Some(false)) => Condition::Absent,
                _ => {
                    return Err(format!("checks[{number}]: name either version or exists"));
                }
            };
            body.checks.push((place, holds));
        }
        let mut written = BTreeSet::new();
        for (number, write) in sent.writes.into_iter().enumerate() {
            let place = place(
                "writes",
                number,
                write.keyspace,
                write.key,
                write.key_base64,
            )?;
            let value = match (
                write.delete,
                write.value.is_some() || write.value_base64.is_some(),
                write.add,
            ) {
                (true, false, None) => None,
                (false, false, Some(add)) => {
                    body.adds.push((number, add));
                    None
                }
                (false, true, None) => {
                    let value = bytes_of("value", write.value, write.value_base64);
                    Some(value.map_err(|why| format!("writes[{number}]: {why}"))?)
                }
                _ => {
                    return Err(format!(
                        "writes[{number}]: name either value, value_base64, add or \"delete\": true"
                    ));
                }
            };
            if !written.insert(place.clone()) {
                return Err(format!("writes[{number}]: the key is written twice"));
            }
            body.writes.push(Write { place, value });
        }
        Ok(body)
    }
}

/// A name begins with the time at which it was given: so it is known until when it must be remembered.
fn id_of(name: String, body: &[u8]) -> Result<Id, String> {
    let digits = name.split('-').next().unwrap_or_default();
    let is_time = digits.len() < name.len() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let ms = digits.parse().ok().filter(|_| is_time);
    match ms {
        Some(ms) if name.len() <= ID_BYTES_MAX => Ok(Id {
            ms,
            name: name.into(),
            body: xxh3_64(body),
        }),
        _ => Err(format!(
            "id {name:?}: an id is the time in milliseconds since 1970, a hyphen, and what makes it unique, in at most {ID_BYTES_MAX} bytes"
        )),
    }
}

/// Refuses a key that none can be.
pub(crate) fn check_key(key: &[u8], bytes_max: usize) -> Result<(), String> {
    match key.len() {
        0 => Err("the key is empty".to_owned()),
        length if length > bytes_max => Err(format!(
            "a key has at most {bytes_max} bytes, this one {length}"
        )),
        _ => Ok(()),
    }
}

fn bytes_of(name: &str, text: Option<String>, encoded: Option<String>) -> Result<Bytes, String> {
    match (text, encoded) {
        (Some(text), None) => Ok(text.into()),
        (None, Some(encoded)) => match STANDARD.decode(encoded) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(format!("{name}_base64 is not base64: {error}")),
        },
        _ => Err(format!("name either {name} or {name}_base64")),
    }
}

/// Keys that were read, in the order of the request, in pieces that together are one JSON text: each is made when it is
/// taken.
pub(crate) fn pieces(
    version: Version,
    reads: Vec<(Place, Found)>,
    sums: &[(Place, i64)],
) -> impl Iterator<Item = String> + use<> {
    let added = if sums.is_empty() {
        String::new()
    } else {
        format!(",\"added\":{}", Value::from_iter(sums.iter().map(added)))
    };
    let last = format!("]{added},\"version\":\"{}\"}}", text(version));
    let reads = reads.into_iter().enumerate();
    let reads = reads.map(|(number, (place, found))| {
        let comma = if number == 0 { "" } else { "," };
        format!("{comma}{}", read(&place, &found))
    });
    std::iter::once("{\"reads\":[".to_owned())
        .chain(reads)
        .chain([last])
}

/// An earlier attempt at the same has happened; what that one read is not known any more.
pub(crate) fn repeated(version: Version) -> Value {
    json!({"version": text(version), "repeated": true})
}

/// A check that did not hold.
pub(crate) fn failed(number: usize, place: &Place, found: Option<Version>) -> Value {
    let mut check = Map::new();
    check.insert("index".to_owned(), number.into());
    check.insert("keyspace".to_owned(), (&*place.keyspace).into());
    put_bytes(&mut check, "key", &place.key);
    let version = found.map_or(Value::Null, |version| text(version).into());
    check.insert("version".to_owned(), version);
    let line = format!("checks[{number}] does not hold: nothing was written");
    json!({"error": line, "check": check})
}

/// A sum, as the text that is stored.
fn added((place, sum): &(Place, i64)) -> Value {
    let mut added = of_place(place);
    added.insert("value".to_owned(), sum.to_string().into());
    added.into()
}

fn of_place(place: &Place) -> Map<String, Value> {
    let mut of = Map::new();
    of.insert("keyspace".to_owned(), (&*place.keyspace).into());
    put_bytes(&mut of, "key", &place.key);
    of
}

fn read(place: &Place, found: &Found) -> Value {
    let mut read = of_place(place);
    if let Some((version, value)) = found {
        put_bytes(&mut read, "value", value);
        read.insert("version".to_owned(), text(*version).into());
    }
    read.into()
}

fn text(version: Version) -> String {
    Stamp::new(version, ORIGIN).to_string()
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
