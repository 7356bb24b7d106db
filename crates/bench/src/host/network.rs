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

/// Whether a process listens on this port of 127.0.0.1. It is not connected to: some servers serve
/// only one connection.
pub fn listens(pid: u32, port: u16) -> bool {
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let wanted: Vec<String> = listeners(&sockets, port)
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    let open = open.into_iter().flatten().flatten();
    let mut open = open.filter_map(|file| fs::read_link(file.path()).ok());
    open.any(|file| {
        wanted
            .iter()
            .any(|socket| file.as_os_str() == socket.as_str())
    })
}

/// Inodes of the sockets that listen on a port.
fn listeners(sockets: &str, port: u16) -> impl Iterator<Item = &str> {
    // The address is in the machine's order of bytes.
    let loopback = u32::from_ne_bytes([127, 0, 0, 1]);
    let wanted = [
        format!("{loopback:08X}:{port:04X}"),
        format!("00000000:{port:04X}"),
    ];
    sockets.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_wanted = wanted
            .iter()
            .any(|address| fields.get(1) == Some(&address.as_str()));
        (is_wanted && fields.get(3) == Some(&LISTEN)).then(|| fields.get(9).copied())?
    })
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
