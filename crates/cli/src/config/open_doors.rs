//! What a start warns of: addresses that others can reach, without what would keep them out (pure).
//! Loopback stays as it is, so that a first try needs no certificates.

use std::net::SocketAddr;

/// What a node is about to open, and what guards it.
#[derive(Debug, Clone, Copy)]
pub struct Doors<'a> {
    /// The address for clients.
    pub http: &'a str,
    /// Whether it speaks TLS.
    pub has_http_tls: bool,
    /// Whether the cluster has users, and is closed to others.
    pub has_users: bool,
}

/// One line for each door that stands open, with what to do about it.
pub fn warnings(doors: Doors<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if !doors.has_http_tls && !is_loopback(doors.http) {
        lines.push(format!(
            "HTTP on {} is not encrypted, and whoever is on the way can read and change it: give a \
             certificate (--http-tls-cert, --http-tls-key), or listen on 127.0.0.1",
            doors.http
        ));
    }
    if !doors.has_users && !is_loopback(doors.http) {
        lines.push(format!(
            "HTTP on {} asks nobody who he is: whoever reaches it may read, write and drop \
             everything; make a user (dunlin user add), or listen on 127.0.0.1",
            doors.http
        ));
    }
    lines
}

/// Whom a port lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetsIn {
    /// Everybody.
    All,
    /// For the time being, also who proves nothing.
    AllAsYet,
    /// Those who prove a secret or have a certificate.
    Known,
}

/// The line for the port between nodes.
pub fn peer_warning(listen: &str, lets_in: LetsIn) -> Option<String> {
    if is_loopback(listen) {
        return None;
    }
    match lets_in {
        LetsIn::Known => None,
        LetsIn::All => Some(format!(
            "the port for other nodes {listen} lets in everybody who reaches it: give all nodes a secret \
             (--peer-secret-file; openssl rand -hex 32 makes one), or listen on 127.0.0.1"
        )),
        LetsIn::AllAsYet => Some(format!(
            "the port for other nodes {listen} still lets in who proves nothing: once all nodes have the \
             secret, start them with --peer-secret-mode required"
        )),
    }
}

/// The line for the port of `dunlin receive`.
pub fn copy_warning(listen: &str, lets_in: LetsIn) -> Option<String> {
    let is_open = lets_in != LetsIn::Known && !is_loopback(listen);
    is_open.then(|| {
        format!(
            "the port for copies {listen} lets in everybody who reaches it: give both sides a secret \
             (--secret-file; openssl rand -hex 32 makes one), or listen on 127.0.0.1"
        )
    })
}

/// Whether only this machine reaches it. Of names only `localhost` is known for certain.
fn is_loopback(address: &str) -> bool {
    match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().to_canonical().is_loopback(),
        Err(_) => {
            let host = address.rsplit_once(':').map(|(host, _)| host);
            host.is_some_and(|host| host.eq_ignore_ascii_case("localhost"))
        }
    }
}

#[cfg(test)]
#[path = "open_doors_tests.rs"]
mod tests;
