//! The names of hosts and links.

/// The name of a host: its cluster, and its number there.
pub fn host_name(cluster: usize, node: usize) -> String {
    format!("{}{}", letter(cluster), node + 1)
}

/// The name of a link from a cluster to another.
pub fn link_name(from: usize, to: usize) -> String {
    format!("{}{}", letter(from), letter(to))
}

fn letter(cluster: usize) -> char {
    char::from(b'a' + cluster as u8)
}
