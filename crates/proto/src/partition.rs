//! Which partition of its keyspace a key belongs to.

use xxhash_rust::xxh3::xxh3_64;

/// The partition of `key` in a keyspace of so many; 0 where there are none.
#[must_use]
pub fn partition_of(key: &[u8], partitions: u16) -> u16 {
    // The remainder is below `partitions`.
    xxh3_64(key)
        .checked_rem(u64::from(partitions))
        .map_or(0, |partition| partition as u16)
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;
