//! Sparse contents of a file, by sector.

use std::collections::BTreeMap;

/// What a disk writes whole or not at all, in bytes.
pub(crate) const SECTOR: u64 = 512;

/// Bytes and a length; what was never written is zero.
#[derive(Clone, Default)]
pub(crate) struct Image {
    sectors: BTreeMap<u64, [u8; SECTOR as usize]>,
    len: u64,
}

impl Image {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.sectors.split_off(&len.div_ceil(SECTOR));
            if let Some(sector) = self.sectors.get_mut(&(len / SECTOR)) {
                sector[(len % SECTOR) as usize..].fill(0);
            }
        }
        self.len = len;
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let count = self.len.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..count];
        buffer.fill(0);
        let end = offset + count as u64;
        for (&number, sector) in self.sectors.range(offset / SECTOR..end.div_ceil(SECTOR)) {
            let start = number * SECTOR;
            let from = start.max(offset);
            let to = (start + SECTOR).min(end);
            buffer[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&sector[(from - start) as usize..(to - start) as usize]);
        }
        count
    }

    pub(crate) fn write_at(&mut self, bytes: &[u8], offset: u64) {
        self.len = self.len.max(offset + bytes.len() as u64);
        for (from, piece) in pieces(bytes, offset) {
            let sector = self
                .sectors
                .entry(from / SECTOR)
                .or_insert([0; SECTOR as usize]);
            let at = (from % SECTOR) as usize;
            sector[at..at + piece.len()].copy_from_slice(piece);
        }
    }
}

/// Splits a write at sector boundaries.
pub(crate) fn pieces(bytes: &[u8], offset: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut at = offset;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let room = (SECTOR - at % SECTOR) as usize;
        let (piece, after) = rest.split_at(rest.len().min(room));
        let from = at;
        at += piece.len() as u64;
        rest = after;
        Some((from, piece))
    })
}
