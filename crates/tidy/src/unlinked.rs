//! Unlinked files: Rust files that belong to no `mod`, so that nothing compiles them.

use std::collections::BTreeSet;

use crate::house::House;
use crate::measure::Measures;
use crate::modules::{Modules, roots};

pub fn measure(house: &House, measures: &mut Measures) {
    for member in &house.crates {
        let mut compiled = BTreeSet::new();
        for root in roots(member) {
            compiled.extend(
                Modules::read(member, root)
                    .all
                    .iter()
                    .map(|module| module.source.path.as_str()),
            );
        }
        for source in &member.sources {
            if !compiled.contains(source.path.as_str()) {
                measures.add(
                    format!("unlinked {}", source.path),
                    source.at(0, "in no `mod`"),
                    || "Nothing compiles it: name it in a `mod`, or delete it.".to_owned(),
                );
            }
        }
    }
}

#[cfg(test)]
#[path = "unlinked_tests.rs"]
mod unlinked_tests;
