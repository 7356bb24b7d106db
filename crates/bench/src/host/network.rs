//! The loopback: what went over it, and who listens, from `/proc`.

use std::fs;

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Bytes that went over the loopback since the machine started, with their headers; `None` when it
/// is not counted.
pub fn loopback_bytes() -> Option<u64> {
    received(&fs::read_to_string("/proc/net/dev").ok()?)
}

fn received(dev: &str) -> Option<u64> {
    let rest = dev
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Whether somebody listens on this port of 127.0.0.1, without connecting to it: some servers
/// serve only one connection.
pub fn listens(port: u16) -> bool {
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    has_listener(&sockets, port)
}

fn has_listener(sockets: &str, port: u16) -> bool {
    // The address is in the machine's order of bytes.
    let loopback = u32::from_ne_bytes([127, 0, 0, 1]);
    let wanted = [
        format!("{loopback:08X}:{port:04X}"),
        format!("00000000:{port:04X}"),
    ];
    sockets.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().unwrap_or_default();
        wanted.iter().any(|address| address == local) && fields.nth(1) == Some(LISTEN)
    })
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
