//! The sync mark: proof that what is before an offset had been synced.

/// Encoded payload of a mark.
pub(crate) fn encode(synced_offset: u64) -> [u8; 8] {
    synced_offset.to_le_bytes()
}

/// The offset a mark vouches for, none when it is not a mark's payload or claims more than what is
/// before the mark itself (at `own_offset`).
pub(crate) fn decode(payload: &[u8], own_offset: u64) -> Option<u64> {
    let offset = u64::from_le_bytes(payload.try_into().ok()?);
    (offset <= own_offset).then_some(offset)
}
