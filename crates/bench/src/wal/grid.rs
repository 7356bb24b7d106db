//! The cells of the paper's grid.

use super::entry::Entry;

/// Its keys.
pub const KEY_BYTES: [usize; 4] = [16, 128, 256, 1024];
/// Its values.
pub const VALUE_BYTES: [usize; 14] = [
    16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192,
];
/// Its block sizes, of which it shows charts.
pub const PAPER_BLOCK_BYTES: [u32; 3] = [8 << 10, 16 << 10, 32 << 10];
/// Its block sizes and those around them.
pub const BLOCK_BYTES: [u32; 6] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];

/// All entries of some keys and values, in the order of the paper's charts: by key + value.
pub fn entries(keys: &[usize], values: &[usize]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = keys
        .iter()
        .flat_map(|&key_bytes| {
            values.iter().map(move |&value_bytes| Entry {
                key_bytes,
                value_bytes,
            })
        })
        .collect();
    entries.sort_by_key(|entry| (entry.user_bytes(), entry.key_bytes));
    entries
}

/// `8 KiB`.
pub fn block_name(block_bytes: u32) -> String {
    format!("{} KiB", block_bytes >> 10)
}
