//! Which doors stand open to a network, and what a start says of each. Pure.

use std::net::IpAddr;

/// How a door is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarded {
    /// Everybody is let in.
    Not,
    /// Those who prove something, and for a time those who do not.
    Offered,
    /// Only those who prove something.
    Required,
}

/// An address that is listened on.
#[derive(Debug, Clone, Copy)]
pub struct Door<'a> {
    /// What it is called.
    pub name: &'a str,
    /// `HOST:PORT`.
    pub address: &'a str,
    /// How it is guarded.
    pub guarded: Guarded,
    /// What guards it, as flags.
    pub remedy: &'a str,
    /// What ends letting in those who prove nothing, as flags.
    pub rest: &'a str,
}

impl Door<'_> {
    /// One line for a door that more than this machine can reach and that lets anybody in.
    pub fn warning(&self) -> Option<String> {
        let Door { name, address, .. } = self;
        if is_loopback(address) {
            return None;
        }
        match self.guarded {
            Guarded::Required => None,
            Guarded::Not => Some(format!(
                "{name} {address} lets in everybody who reaches it: give {}, or listen on 127.0.0.1",
                self.remedy
            )),
            Guarded::Offered => Some(format!(
                "{name} {address} still lets in who proves nothing: give {}",
                self.rest
            )),
        }
    }
}

/// Whether only this machine reaches an address. A name may mean anything, `localhost` aside.
pub fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
#[path = "open_doors_tests.rs"]
mod tests;
