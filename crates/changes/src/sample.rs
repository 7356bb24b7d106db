//! An entry, for tests.

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};

/// A put.
pub(crate) fn entry(key: &[u8], value: &[u8]) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition: 12,
        keyspace: 5,
        stamp: Stamp::new(Version(6), Origin::new(1, 0, 1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::copy_from_slice(key),
        value: Bytes::copy_from_slice(value),
    }
}
