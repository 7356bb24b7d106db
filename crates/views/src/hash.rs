//! A hash of bytes, the same at every node and for ever.

/// Of 64 bits, FNV-1a with its bits mixed: hashes are added up, so those of like bytes must not be alike.
pub(crate) fn hash_of(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

#[cfg(test)]
#[path = "hash_tests.rs"]
mod tests;
