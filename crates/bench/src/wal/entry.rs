//! What is written: the write batch that RocksDB logs for one put.

use std::rc::Rc;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

/// Sequence number and count of a write batch.
const BATCH_HEADER_BYTES: usize = 12;
/// The tag of a put in the default column family.
const TAG_PUT: u8 = 1;
/// What the paper adds to key and value: 7 bytes of record header, 15 of batch.
const PAPER_OVERHEAD_BYTES: usize = 22;
/// Values are cut from this many random bytes.
const POOL_BYTES: usize = 1 << 20;

/// The sizes of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Bytes of its key.
    pub key_bytes: usize,
    /// Bytes of its value.
    pub value_bytes: usize,
}

impl Entry {
    /// `k16v128`, as the paper writes it.
    pub fn name(&self) -> String {
        format!("k{}v{}", self.key_bytes, self.value_bytes)
    }

    /// Bytes of key and value, by which the paper sorts its charts.
    pub fn user_bytes(&self) -> usize {
        self.key_bytes + self.value_bytes
    }

    /// The paper's record: key + value + 22.
    pub fn paper_record_bytes(&self) -> usize {
        self.user_bytes() + PAPER_OVERHEAD_BYTES
    }

    /// Bytes of the write batch: what the log gets as payload. The paper's 15 bytes of batch
    /// become 16 or 17 when a length needs two bytes.
    pub fn payload_bytes(&self) -> usize {
        BATCH_HEADER_BYTES
            + 1
            + varint_bytes(self.key_bytes)
            + self.key_bytes
            + varint_bytes(self.value_bytes)
            + self.value_bytes
    }

    /// The padding of a block of `block_bytes` by the paper's formula.
    pub fn paper_padding_bytes(&self, block_bytes: usize) -> usize {
        let record = self.paper_record_bytes();
        if record <= block_bytes {
            block_bytes % record
        } else {
            block_bytes - (record - block_bytes) % block_bytes
        }
    }
}

/// Makes entries with random keys and values, replayable by seed.
#[derive(Debug, Clone)]
pub struct Source {
    entry: Entry,
    state: u64,
    sequence: u64,
    pool: Rc<[u8]>,
}

impl Source {
    /// Entries of these sizes.
    pub fn new(entry: Entry, seed: u64) -> Source {
        let mut state = seed;
        let mut pool = Vec::with_capacity(POOL_BYTES + entry.value_bytes);
        while pool.len() < POOL_BYTES + entry.value_bytes {
            pool.extend_from_slice(&random(&mut state).to_le_bytes());
        }
        Source {
            entry,
            state,
            sequence: 0,
            pool: pool.into(),
        }
    }

    /// The same pool with a random sequence of its own.
    pub fn fork(&self, seed: u64) -> Source {
        let mut state = self.state ^ seed.wrapping_mul(0xd134_2543_de82_ef95);
        random(&mut state);
        Source {
            state,
            ..self.clone()
        }
    }

    /// The next write batch.
    pub fn next_payload(&mut self) -> Bytes {
        let Entry {
            key_bytes,
            value_bytes,
        } = self.entry;
        let mut batch = BytesMut::with_capacity(self.entry.payload_bytes());
        self.sequence += 1;
        batch.put_u64_le(self.sequence);
        batch.put_u32_le(1);
        batch.put_u8(TAG_PUT);
        put_varint(&mut batch, key_bytes);
        let key = random(&mut self.state).to_be_bytes();
        // As db_bench does: a random number, filled up with zeros.
        batch.put_slice(&key[..key_bytes.min(key.len())]);
        batch.put_bytes(b'0', key_bytes.saturating_sub(key.len()));
        put_varint(&mut batch, value_bytes);
        let from = random(&mut self.state) as usize % POOL_BYTES;
        batch.put_slice(&self.pool[from..from + value_bytes]);
        batch.freeze()
    }
}

/// SplitMix64: enough to make bytes that repeat nowhere.
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn varint_bytes(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()).div_ceil(7).max(1) as usize
}

fn put_varint(out: &mut BytesMut, mut number: usize) {
    while number >= 0x80 {
        out.put_u8(number as u8 | 0x80);
        number >>= 7;
    }
    out.put_u8(number as u8);
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
