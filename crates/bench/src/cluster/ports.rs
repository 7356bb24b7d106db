//! Free ports on the loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use super::ClusterError;

/// Below the range from which the kernel picks ports for outgoing connections, so that our own
/// clients do not take them before the servers do.
const FIRST: u16 = 20_000;
const LAST: u16 = 32_000;

/// How many this process has looked at: two clusters that it starts at once never get the same.
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);

/// The first of `count` consecutive ports that are free now.
///
/// # Errors
/// [`ClusterError::Ports`] when there are none.
pub fn consecutive(count: u16) -> Result<u16, ClusterError> {
    let span = u32::from(LAST - FIRST);
    // Several runs on one machine begin at different places.
    let offset = std::process::id().wrapping_mul(61);
    (0..span)
        .map(|_| {
            let step = LOOKED_AT.fetch_add(u32::from(count), Ordering::Relaxed);
            FIRST + (offset.wrapping_add(step) % span) as u16
        })
        .find(|&base| {
            let held: Vec<_> = (base..base + count)
                .map_while(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
                .collect();
            held.len() == usize::from(count)
        })
        .ok_or(ClusterError::Ports { count })
}

#[cfg(test)]
#[path = "ports_tests.rs"]
mod tests;
