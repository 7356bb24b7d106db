//! What a transaction over several requests has read: it commits at a later timestamp if that is as it was. Pure.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_metadata::Keyspace;
use dunlin_node::Failure;
use dunlin_proto::Condition;
use dunlin_txn::{Check, ORIGIN, Reads, Share, Span};

use crate::body::Place;
use crate::group::range_id;
use crate::keyspaces::{Finder, Keyspaces};

/// Beside keys, bytes of a key or scan.
const EACH: usize = 96;

/// The version that a key had; none for no value. Not known while it is read.
type Known = Option<Option<Version>>;

/// Keys and scans.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    keys: BTreeMap<Place, Known>,
    /// By keyspace.
    scans: Vec<(String, Span)>,
    /// There were too many to be remembered: the transaction commits at the timestamp of its reads, or not at all.
    is_over: bool,
}

impl ReadSet {
    /// Keys that were read, with their versions.
    pub fn of_keys(keys: impl IntoIterator<Item = (Place, Option<Version>)>) -> ReadSet {
        let keys = keys.into_iter();
        ReadSet {
            keys: keys
                .map(|(place, version)| (place, Some(version)))
                .collect(),
            ..ReadSet::default()
        }
    }

    /// How many keys and scans.
    pub fn len(&self) -> usize {
        self.keys.len() + self.scans.len()
    }

    /// Whether all that was read is here.
    pub fn is_whole(&self) -> bool {
        !self.is_over
    }

    /// Names of keyspaces.
    pub fn keyspaces(&self) -> impl Iterator<Item = &str> {
        let of_keys = self.keys.keys().map(|place| &*place.keyspace);
        of_keys.chain(self.scans.iter().map(|(name, _)| &**name))
    }

    /// A key will be read. Returns the bytes that this takes.
    pub fn add_key(&mut self, place: &Place, most: usize) -> usize {
        if self.is_over || self.keys.contains_key(place) || self.fill(most) {
            return 0;
        }
        self.keys.insert(place.clone(), None);
        EACH + place.keyspace.len() + place.key.len()
    }

    /// It was read, and had this version.
    pub fn found(&mut self, place: &Place, version: Option<Version>) {
        if let Some(known) = self.keys.get_mut(place) {
            *known = Some(version);
        }
    }

    /// Keys will be scanned. Returns its number, and the bytes that this takes.
    pub fn add_scan(&mut self, keyspace: &str, span: Span, most: usize) -> (usize, usize) {
        if self.is_over || self.fill(most) {
            return (usize::MAX, 0);
        }
        let end = span.1.as_ref().map_or(0, Bytes::len);
        let bytes = EACH + keyspace.len() + span.0.len() + end;
        self.scans.push((keyspace.to_owned(), span));
        (self.scans.len() - 1, bytes)
    }

    /// A scan went no further than this.
    pub fn scanned(&mut self, number: usize, end: Bytes) {
        if let Some((_, span)) = self.scans.get_mut(number) {
            span.1 = Some(end);
        }
    }

    /// Nothing more is remembered where there is too much.
    pub fn give_up(&mut self) {
        *self = ReadSet {
            is_over: true,
            ..ReadSet::default()
        };
    }

    fn fill(&mut self, most: usize) -> bool {
        if self.len() >= most {
            self.give_up();
        }
        self.is_over
    }

    /// Keys that are read and whose ranges are written become checks there, of the entries that write; all else is
    /// returned.
    ///
    /// # Errors
    /// When a keyspace is not among these.
    pub fn share_out(
        &self,
        keyspaces: &Keyspaces,
        shares: &mut [Share],
    ) -> Result<Vec<Reads>, Failure> {
        let mut apart = BTreeMap::<u64, Vec<Span>>::new();
        let mut finder = Finder::new(keyspaces);
        for (place, known) in &self.keys {
            let range = finder.range(place)?;
            let share = shares.iter_mut().find(|share| share.range == range);
            match (share, known) {
                (Some(share), Some(version)) => share.checks.push(Check {
                    key: place.key.clone(),
                    condition: as_read(*version),
                }),
                _ => {
                    let behind = Bytes::from([&place.key[..], &[0]].concat());
                    let span = (place.key.clone(), Some(behind));
                    apart.entry(range).or_default().push(span);
                }
            }
        }
        for (name, span) in &self.scans {
            let keyspace = keyspaces.get(name).ok_or(Failure::UnknownKeyspace)?;
            for (range, span) in by_range(keyspace, span) {
                apart.entry(range).or_default().push(span);
            }
        }
        let reads = apart.into_iter();
        Ok(reads.map(|(range, spans)| Reads { range, spans }).collect())
    }
}

/// That a key is as it was read.
fn as_read(version: Option<Version>) -> Condition {
    version.map_or(Condition::Absent, |version| {
        Condition::Is(Stamp::new(version, ORIGIN))
    })
}

/// A scan, cut at the ends of ranges.
fn by_range(keyspace: &Keyspace, (start, end): &Span) -> Vec<(u64, Span)> {
    let (mut spans, mut start) = (Vec::new(), start.clone());
    loop {
        if end.as_ref().is_some_and(|end| *end <= start) {
            return spans;
        }
        let index = keyspace.range_of(&start);
        let range = range_id(keyspace.id, index);
        let behind = keyspace.range_end(index).map(str::as_bytes);
        let behind = behind.filter(|behind| end.as_ref().is_none_or(|end| *behind < &end[..]));
        match behind {
            Some(behind) => {
                let behind = Bytes::copy_from_slice(behind);
                spans.push((range, (start, Some(behind.clone()))));
                start = behind;
            }
            None => {
                spans.push((range, (start, end.clone())));
                return spans;
            }
        }
    }
}

#[cfg(test)]
#[path = "read_set_tests.rs"]
mod tests;
