//! Ports nobody listens on, below those the system gives to outgoing connections.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The first of `count` free ports in a row, none of which this process gave out lately.
pub fn row(count: u16) -> u16 {
    // Processes begin at different places, so that they seldom meet.
    let begin = std::process::id().wrapping_mul(131);
    for _ in 0..1_000 {
        let turn = NEXT.fetch_add(u32::from(count), Ordering::Relaxed);
        let first = (FIRST + begin.wrapping_add(turn) % COUNT) as u16;
        let free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if (first..first + count).all(free) {
            return first;
        }
    }
    panic!("no {count} free ports in a row");
}
