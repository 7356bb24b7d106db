//! Sums and lists of the values in a range of keys. Pure.

use bytes::{Bytes, BytesMut};
use dunlin_entry::{Entry, Kind, Version};
use dunlin_proto::{ItemRef, partition_of};
use xxhash_rust::xxh3::xxh3_128;

/// The values of a range that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Later versions are left out.
    pub until: Version,
    /// Values that expire before are left out, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Keys of this partition, of so many; none where the stored partition has no other keys.
    pub partition: Option<(u16, u16)>,
    /// Keys before this.
    pub end: Option<Bytes>,
}

impl Scope {
    /// Whether a stored record is compared.
    pub fn has(&self, record: &ItemRef<'_>) -> bool {
        let is_kept = record
            .expiry_ms
            .is_none_or(|expiry| expiry > self.expires_ms);
        let is_of = |(partition, of)| partition_of(record.key, of) == partition;
        !record.tombstone
            && is_kept
            && record.stamp.version <= self.until
            && !self.is_over(record.key)
            && self.partition.is_none_or(is_of)
    }

    /// Whether a key is behind the range.
    pub fn is_over(&self, key: &[u8]) -> bool {
        self.end.as_ref().is_some_and(|end| key >= &end[..])
    }
}

/// How many values there are, and a sum that does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub records: u64,
    pub sum: u128,
}

impl Digest {
    /// Adds a record, as [`hashed`] makes it.
    pub fn add(&mut self, entry: &Entry) {
        let mut bytes = BytesMut::with_capacity(entry.encoded_len());
        entry.encode_into(&mut bytes);
        self.records += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(&bytes));
    }
}

/// A record as an entry without its place in this cluster.
pub(crate) fn plain(key: Bytes, record: &ItemRef<'_>, value: Bytes) -> Entry {
    Entry {
        kind: if record.tombstone {
            Kind::Delete
        } else {
            Kind::Put
        },
        copy: false,
        from: 0,
        partition: 0,
        keyspace: 0,
        stamp: record.stamp,
        logged: None,
        expiry_ms: record.expiry_ms,
        is_expiry: record.is_expiry,
        replaces: record.replaces,
        key,
        value,
    }
}

/// A record as such an entry, with the hash of its value in place of the value.
pub(crate) fn hashed(key: Bytes, record: &ItemRef<'_>) -> Entry {
    plain(key, record, hash(record.tombstone, record.value))
}

fn hash(tombstone: bool, value: &[u8]) -> Bytes {
    if tombstone {
        return Bytes::new();
    }
    Bytes::copy_from_slice(&xxh3_128(value).to_le_bytes())
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
