//! Chance: what a run takes from the operating system's source of randomness comes from its seed.
//!
//! Much takes from it without being asked: the order of a hash map, the branch an unbiased `select!`
//! looks at first, the order in which those who wait for one `tokio::sync::watch` are woken. None of
//! that can be handed in, so the source itself is replaced: this module has the process's `getrandom`,
//! which the standard library prefers to the system call so that it can be replaced. A run has a thread
//! of its own, for a thread takes its hash maps' keys once. RocksDB's threads, and all others, still
//! get what the operating system has.

use std::cell::Cell;
use std::ffi::{c_long, c_uint, c_void};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::{slice, thread};

/// What the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    /// The state of this thread's source; `None` where the operating system's is used. It needs no
    /// setting up and no end, so it can be asked at any time.
    static SOURCE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` on a thread of its own whose chance comes from `seed`.
///
/// # Errors
/// When the operating system refuses a thread.
pub fn from_seed<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, move || {
            SOURCE.set(Some(seed));
            work()
        })?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// The next number of a source (splitmix64).
fn next(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, mixed ^ mixed >> 31)
}

/// Takes the place of the C library's function of this name, for everything in the process.
///
/// # Safety
/// As for the C library's: `buffer` has room for `length` bytes.
#[allow(
    unsafe_code,
    reason = "the only way to replace a function of the C library"
)]
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    let Some(mut state) = SOURCE.get() else {
        // SAFETY: the system call takes what this function takes; the caller vouches for `buffer`.
        let got: c_long = unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) };
        return got as isize;
    };
    // SAFETY: the caller vouches for `buffer`; what it holds yet is not read.
    let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), length) };
    for piece in bytes.chunks_mut(size_of::<u64>()) {
        let (after, number) = next(state);
        state = after;
        for (byte, value) in piece.iter_mut().zip(number.to_le_bytes()) {
            byte.write(value);
        }
    }
    SOURCE.set(Some(state));
    length as isize
}

#[cfg(test)]
#[path = "chance_tests.rs"]
mod tests;
