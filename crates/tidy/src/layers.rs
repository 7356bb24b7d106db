//! Layers: which crates of the house a crate may use.

use crate::house::{Crate, House};
use crate::measure::{Measures, Site};

/// A crate, what it may use, and what its tests may use besides. Lower crates come first: what a crate may use
/// stands above it.
const LAYERS: &[(&str, &[&str], &[&str])] = &[
    ("tidy", &[], &[]),
    (
        "fuzz",
        &["entry", "log", "message", "proto", "rpc", "secret"],
        &[],
    ),
    ("log", &[], &[]),
    ("entry", &[], &[]),
    ("store", &["entry"], &[]),
    ("message", &[], &[]),
    ("secret", &[], &[]),
    ("rpc", &["message", "secret"], &[]),
    ("tls", &[], &[]),
    ("metadata", &["tls"], &[]),
    ("proto", &["entry", "message"], &[]),
    ("history", &[], &[]),
    ("chart", &[], &[]),
    (
        "node",
        &[
            "entry", "log", "message", "metadata", "proto", "rpc", "secret", "store", "tls",
        ],
        &[],
    ),
    (
        "changes",
        &["entry", "log", "metadata", "node", "proto", "rpc"],
        &[],
    ),
    (
        "views",
        &[
            "changes", "entry", "log", "metadata", "node", "proto", "rpc", "store",
        ],
        &[],
    ),
    (
        "links",
        &["changes", "entry", "metadata", "node", "proto", "rpc"],
        &[],
    ),
    ("raftlog", &["log"], &[]),
    ("txn", &["entry", "proto"], &["history"]),
    ("versions", &["entry", "store", "txn"], &["proto"]),
    (
        "ranges",
        &[
            "entry", "log", "message", "metadata", "node", "proto", "raftlog", "rpc", "txn",
            "versions",
        ],
        &[],
    ),
    ("client", &["entry", "proto", "rpc", "tls"], &[]),
    ("copy", &["client", "log", "secret"], &[]),
    ("tpcc", &["client"], &[]),
    (
        "cli",
        &[
            "changes", "chart", "client", "copy", "entry", "links", "log", "metadata", "node",
            "ranges", "rpc", "secret", "store", "tls", "views",
        ],
        &["history", "proto", "tpcc"],
    ),
    ("bench", &["chart", "client", "log", "rpc", "tpcc"], &[]),
    (
        "sim",
        &[
            "changes", "entry", "history", "links", "log", "message", "metadata", "node", "proto",
            "ranges", "rpc", "secret", "store", "views",
        ],
        &[],
    ),
];

pub fn measure(house: &House, measures: &mut Measures) {
    for member in &house.crates {
        let Some((_, uses, tests)) = LAYERS.iter().find(|(name, ..)| *name == member.name) else {
            let advice = || "Give it a line in LAYERS of crates/tidy/src/layers.rs.".to_owned();
            measures.add(
                format!("layers {}", member.name),
                site(member, "no layer"),
                advice,
            );
            continue;
        };
        let code = used(member, "dependencies");
        for name in &code {
            if !uses.contains(&name.as_str()) {
                wrong(member, name, measures);
            }
        }
        for name in used(member, "dev-dependencies") {
            if !uses.contains(&name.as_str()) && !tests.contains(&name.as_str()) {
                wrong(member, &name, measures);
            }
        }
        for name in *uses {
            if !code.iter().any(|used| used == name) {
                let advice = || {
                    "It does not: take it out of LAYERS of crates/tidy/src/layers.rs.".to_owned()
                };
                measures.add(
                    format!("layers {} may use {name}", member.name),
                    site(member, *name),
                    advice,
                );
            }
        }
    }
}

fn wrong(member: &Crate, name: &str, measures: &mut Measures) {
    measures.add(format!("layers {} uses {name}", member.name), site(member, name), || {
        "A crate uses only what stands below it (LAYERS in crates/tidy/src/layers.rs): move what both need down, \
         or take a trait."
            .to_owned()
    });
}

/// The crates of the house in a table of a crate's manifest, by folder.
fn used(member: &Crate, table: &str) -> Vec<String> {
    let table = member.manifest.get(table).and_then(toml::Value::as_table);
    let names = table.into_iter().flat_map(|table| table.keys());
    names
        .filter_map(|name| Some(name.strip_prefix("dunlin-")?.to_owned()))
        .collect()
}

fn site(member: &Crate, text: impl Into<String>) -> Site {
    Site::new(format!("{}/Cargo.toml", member.folder), 0, text)
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod layers_tests;
