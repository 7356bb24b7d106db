//! Key: where a user's key lives in RocksDB (`docs/formats.md`, section 3).
//!
//! `keyspace u32 big-endian | partition u16 big-endian | user key`, so that a partition is a
//! contiguous range and a keyspace is its partitions in order.

use crate::StoreError;

/// Bytes before the user's key.
pub(crate) const PREFIX_BYTES: usize = 6;

/// The prefix shared by a partition's keys; also its first possible key.
pub(crate) fn prefix(keyspace: u32, partition: u16) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..4].copy_from_slice(&keyspace.to_be_bytes());
    bytes[4..].copy_from_slice(&partition.to_be_bytes());
    bytes
}

/// The first possible key after a partition. The reserved keyspace keeps it from wrapping.
pub(crate) fn after(keyspace: u32, partition: u16) -> [u8; PREFIX_BYTES] {
    match partition.checked_add(1) {
        Some(next) => prefix(keyspace, next),
        None => prefix(keyspace.saturating_add(1), 0),
    }
}

/// Replaces `out` with the RocksDB key of a user's key.
pub(crate) fn encode(out: &mut Vec<u8>, keyspace: u32, partition: u16, user: &[u8]) {
    out.clear();
    out.extend_from_slice(&prefix(keyspace, partition));
    out.extend_from_slice(user);
}

/// Keyspace, partition and user's key of a RocksDB key; `None` when it is too short to be one.
pub(crate) fn decode(key: &[u8]) -> Option<(u32, u16, &[u8])> {
    let (keyspace, rest) = key.split_first_chunk::<4>()?;
    let (partition, user) = rest.split_first_chunk::<2>()?;
    Some((
        u32::from_be_bytes(*keyspace),
        u16::from_be_bytes(*partition),
        user,
    ))
}

/// Every range of a keyspace must have an end, which the greatest number would not.
pub(crate) fn check_keyspace(keyspace: u32) -> Result<(), StoreError> {
    if keyspace == u32::MAX {
        return Err(StoreError::ReservedKeyspace);
    }
    Ok(())
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
