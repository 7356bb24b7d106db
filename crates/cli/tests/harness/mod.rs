//! Real processes for black-box tests: nodes, clusters, etcd, and clients that share no code with them.
//!
//! Map: [`child`] a process that ends with the test; [`ports`] free ports; [`up`] `dunlin up`;
//! [`flock`] an etcd and nodes of `dunlin serve`; [`proxy`] a way to a server that can be closed; [`curl`] and [`wire`] two HTTP clients;
//! [`direct`] requests without HTTP between; [`answer`] what both return; [`asking`] requests of users; [`load`] writers and the proof that nothing acknowledged is lost;
//! [`authority`] certificates; [`secure`] a node with TLS; [`promtool`] a judge of metrics; [`mirror`] a client of change streams; [`namespace`] and [`tmpfs`] networks that can be cut and disks that can be full; [`preload`] disks that hang and wrong clocks, by [`library`].

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

pub mod answer;
pub mod asking;
pub mod authority;
pub mod child;
pub mod curl;
pub mod direct;
pub mod etcd;
pub mod flock;
pub mod library;
pub mod load;
pub mod mirror;
pub mod namespace;
pub mod ports;
pub mod preload;
pub mod promtool;
pub mod proxy;
pub mod random;
pub mod secure;
pub mod tmpfs;
pub mod up;
pub mod wire;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Looks every 20 ms whether `holds`; the panic says `what` never came.
pub fn eventually(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Copies a directory as it is.
pub fn duplicate(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Bytes of a key as they stand in a query or a path.
pub fn percent(bytes: impl AsRef<[u8]>) -> String {
    percent_encoding::percent_encode(bytes.as_ref(), percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The first figure of this name in the text of `/metrics`.
pub fn metric(text: &str, name: &str) -> f64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(key, _)| key.split('{').next() == Some(name));
    let (_, figure) = found.unwrap_or_else(|| panic!("no {name} in {text}"));
    figure.parse().unwrap()
}
