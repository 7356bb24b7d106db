//! Memory that requests took, given back to the system: the allocator keeps what is freed.

use std::time::Duration;

use dunlin_node::Process;
use tokio::time::sleep;

/// How often it is looked whether there is much to give back.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Less is kept for the next requests.
const MUCH_BYTES: usize = 32 << 20;

/// Gives memory back after requests that took much, for as long as it is polled.
pub async fn give_back(process: &Process) -> std::convert::Infallible {
    loop {
        sleep(LOOK_INTERVAL).await;
        if process.has_memory_fallen_by(MUCH_BYTES) {
            trim();
        }
    }
}

#[cfg(target_env = "gnu")]
#[allow(
    unsafe_code,
    reason = "glibc keeps freed memory until it is told to give it back"
)]
fn trim() {
    // SAFETY: it takes the allocator's own locks, and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other allocators give it back by themselves.
#[cfg(not(target_env = "gnu"))]
fn trim() {}
