//! Goes over the ranges of both clusters, and finds the keys in which they differ.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_entry::{Entry, Version};
use dunlin_proto::api::{DigestAnswer, DigestRequest, HexVersion};

use super::confirm::Confirm;
use super::range::{self, entries};

/// Records here of one range, and records there that are read for it.
const RANGE_RECORDS: u32 = 4_096;
const THERE_RECORDS: u32 = 16_384;

/// A walk over the keys that begin with a prefix.
pub(crate) struct Walk {
    /// Writes up to then are compared.
    pub until: Version,
    pub prefix: Bytes,
    /// The larger partition count.
    pub of: u16,
    pub partition: u16,
    /// Where the partition goes on.
    pub start: Bytes,
}

/// What one step has found.
#[derive(Default)]
pub(crate) struct Step {
    /// Values here.
    pub records: u64,
    /// Bytes that were read here and there.
    pub read_bytes: u64,
    /// Keys in which the ranges differ.
    pub differ: Vec<Bytes>,
}

/// The first key behind all that begin with a prefix.
fn behind(prefix: &[u8]) -> Option<Bytes> {
    let length = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=length].to_vec();
    end[length] += 1;
    Some(end.into())
}

fn key_of(text: &Option<String>) -> Result<Option<Bytes>, String> {
    let decoded = text.as_ref().map(|text| STANDARD.decode(text));
    let decoded = decoded.transpose().map_err(|error| error.to_string())?;
    Ok(decoded.map(Bytes::from))
}

impl Walk {
    /// From the first key on.
    pub fn new(until: Version, prefix: &str, of: u16) -> Walk {
        let prefix = Bytes::from(prefix.to_owned());
        Walk {
            until,
            start: prefix.clone(),
            prefix,
            of,
            partition: 0,
        }
    }

    pub fn is_done(&self) -> bool {
        self.partition >= self.of
    }

    fn request(&self, end: Option<&Bytes>, now_ms: u64, bound_ms: u64) -> DigestRequest {
        DigestRequest {
            keyspace_id: 0,
            partition: self.partition,
            of: self.of,
            start_base64: STANDARD.encode(&self.start),
            end_base64: end.map(|end| STANDARD.encode(end)),
            until: HexVersion(self.until),
            expires_ms: now_ms + bound_ms,
            records_max: RANGE_RECORDS,
            list: false,
        }
    }

    /// Compares the next range.
    pub async fn step(&mut self, confirm: &Confirm) -> Result<Step, String> {
        let services = &confirm.services;
        let end = behind(&self.prefix);
        let request = self.request(end.as_ref(), services.now_ms(), services.clock_bound_ms());
        let read = |request: DigestRequest| async move {
            let read = range::read(&confirm.services, confirm.keyspace, &request).await;
            read.map_err(|error| error.to_string())
        };
        let here = read(request.clone()).await?;
        let end = key_of(&here.next_base64)?.or(end);
        let request = DigestRequest {
            end_base64: end.as_ref().map(|end| STANDARD.encode(end)),
            records_max: THERE_RECORDS,
            ..request
        };
        let there = confirm.other.digest(&request).await?;
        if there.partitions > self.of {
            // A partition there has the keys of several here, and the other way round.
            *self = Walk::new(
                self.until,
                &String::from_utf8_lossy(&self.prefix),
                there.partitions,
            );
            return Ok(Step::default());
        }
        let mut step = Step {
            records: here.records,
            read_bytes: here.read_bytes + there.read_bytes,
            differ: Vec::new(),
        };
        let mut next = key_of(&here.next_base64)?;
        let is_whole = there.next_base64.is_none();
        if !is_whole || (here.records, &here.sum) != (there.records, &there.sum) {
            let listed = list(confirm, request, end, read).await?;
            step.read_bytes += listed.read_bytes;
            step.differ = listed.differ;
            if listed.next.is_some() {
                // The other cluster has more in this range than it lists at once.
                step.records = listed.records;
                next = listed.next;
            }
        }
        match next {
            Some(next) => self.start = next,
            None => {
                self.partition += 1;
                self.start = self.prefix.clone();
            }
        }
        Ok(step)
    }
}

/// The keys in which a range differs.
struct Listed {
    differ: Vec<Bytes>,
    read_bytes: u64,
    /// Values here.
    records: u64,
    /// Where it goes on, if that was not all of the range.
    next: Option<Bytes>,
}

/// Lists a range, as much of it as the other cluster lists at once.
async fn list<F: Future<Output = Result<DigestAnswer, String>>>(
    confirm: &Confirm,
    request: DigestRequest,
    end: Option<Bytes>,
    read: impl Fn(DigestRequest) -> F,
) -> Result<Listed, String> {
    let request = DigestRequest {
        list: true,
        ..request
    };
    let there = confirm.other.digest(&request).await?;
    let next = key_of(&there.next_base64)?;
    let end = next.clone().or(end);
    let mut request = DigestRequest {
        end_base64: end.map(|end| STANDARD.encode(end)),
        ..request
    };
    let mut read_bytes = there.read_bytes;
    let mut listed = Vec::new();
    loop {
        let here = read(request.clone()).await?;
        read_bytes += here.read_bytes;
        listed.extend(entries(&here.entries_base64).map_err(|error| error.to_string())?);
        match here.next_base64 {
            Some(next) => request.start_base64 = next,
            None => break,
        }
    }
    let there = entries(&there.entries_base64).map_err(|error| error.to_string())?;
    Ok(Listed {
        records: listed.len() as u64,
        differ: differ(listed, there),
        read_bytes,
        next,
    })
}

/// The keys of records that only one of two lists has. Pure.
fn differ(here: Vec<Entry>, there: Vec<Entry>) -> Vec<Bytes> {
    let mut rest: BTreeMap<Bytes, Entry> = there.into_iter().map(|e| (e.key.clone(), e)).collect();
    let mut keys = Vec::new();
    for entry in here {
        let other = rest.remove(&entry.key);
        if other.as_ref() != Some(&entry) {
            keys.push(entry.key);
        }
    }
    keys.extend(rest.into_keys());
    keys
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
