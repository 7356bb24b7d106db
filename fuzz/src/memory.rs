//! The counting allocator, and what one input may take. Beyond its limit an allocation fails, which
//! ends the process where it happens: libFuzzer keeps the input.

use cap::Cap;
use std::{alloc::System, panic, sync::Once};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What reading a log takes whatever is in it: chunks, windows, blocks; and the simulated disk's
/// copies of an input.
pub const PLAIN_BYTES: usize = 24 << 20;
/// The largest batch decompressed, the record in it, and a growing buffer it is copied to.
pub const BATCH_BYTES: usize = 5 * (64 << 20);

/// The backtrace of a panic takes more memory than any input may.
static LIFT: Once = Once::new();

/// Runs with at most `bytes` more than are allocated now.
pub fn limited<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    LIFT.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // It fails only below what is allocated.
            let _ = ALLOCATOR.set_limit(usize::MAX);
            told(panic);
        }));
    });
    // Both fail only when more than the limit is allocated already.
    let limit = ALLOCATOR.allocated().saturating_add(bytes);
    assert!(ALLOCATOR.set_limit(limit).is_ok(), "no limit was set");
    let result = run();
    assert!(ALLOCATOR.set_limit(usize::MAX).is_ok(), "the limit stays");
    result
}
