//! Spare: room that is held back for opening a store on a full disk.
//!
//! RocksDB writes a manifest and its options at each opening. Without room for them a node would
//! not start, and dropping a keyspace, which makes room, needs it started.

use std::fs;
use std::path::Path;

const FILE: &str = "spare";
/// A few times what an opening takes, and the note that files have gone.
const BYTES: usize = 1 << 20;
/// It is not held back of less than this: who is short of room has better use for it.
const LEAST_FREE_BYTES: u64 = 8 << 20;

/// Gives the room to whoever is first; false when none was held.
#[allow(
    clippy::disallowed_methods,
    reason = "RocksDB is the real disk here, in simulations too"
)]
pub(crate) fn give(path: &Path) -> bool {
    fs::remove_file(path.join(FILE)).is_ok()
}

/// Holds the room back if there is enough; answers whether it is held.
#[allow(
    clippy::disallowed_methods,
    reason = "RocksDB is the real disk here, in simulations too"
)]
pub(crate) fn hold(path: &Path) -> bool {
    let file = path.join(FILE);
    if fs::metadata(&file).is_ok_and(|held| held.len() == BYTES as u64) {
        return true;
    }
    if free_bytes(path) < LEAST_FREE_BYTES {
        return false;
    }
    let is_held = fs::write(&file, noise()).is_ok();
    if !is_held {
        // What there is of it is no use to anybody.
        drop(fs::remove_file(&file));
    }
    is_held
}

/// What the disk under `path` has left, in bytes; 0 when it does not say.
pub(crate) fn free_bytes(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize))
}

/// Bytes that no file system makes smaller.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(BYTES / 8).flatten().collect()
}
