//! Circles: files of a crate that import each other, directly or by way of others.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::House;
use crate::imports::imports;
use crate::measure::{Measures, Site};
use crate::modules::{Modules, roots};

type Graph<'h> = BTreeMap<&'h str, BTreeSet<&'h str>>;

pub fn measure(house: &House, measures: &mut Measures) {
    for member in &house.crates {
        for root in roots(member) {
            let graph = graph(&Modules::read(member, root));
            for (file, uses) in in_circles(&graph) {
                let site = Site::new(file, 0, format!("uses {}", uses.join(", ")));
                measures.add(format!("circles {}", member.name), site, || {
                    "Files must not import each other: move what both need into a third file, or pass it as an \
                     argument. These do, among them the new ones:"
                        .to_owned()
                });
            }
        }
    }
}

/// The files that each file imports from, without tests.
fn graph<'h>(modules: &Modules<'h>) -> Graph<'h> {
    let mut graph = Graph::new();
    for (at, module) in modules.all.iter().enumerate() {
        if module.is_test {
            continue;
        }
        let from = module.source.path.as_str();
        let uses = graph.entry(from).or_default();
        for to in imports(modules, at) {
            let to = &modules.all[to];
            if !to.is_test && to.source.path != from {
                uses.insert(&to.source.path);
            }
        }
    }
    graph
}

/// The files that lead back to themselves, each with those it uses on the way.
fn in_circles<'h>(graph: &Graph<'h>) -> Vec<(&'h str, Vec<&'h str>)> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|file| (*file, reach(graph, file)))
        .collect();
    let leads_to = |from: &str, to: &str| {
        reached
            .get(from)
            .is_some_and(|reached| reached.contains(to))
    };
    let mut found = Vec::new();
    for (file, uses) in graph {
        if leads_to(file, file) {
            found.push((
                *file,
                uses.iter()
                    .copied()
                    .filter(|other| leads_to(other, file))
                    .collect(),
            ));
        }
    }
    found
}

fn reach<'h>(graph: &Graph<'h>, from: &str) -> BTreeSet<&'h str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for other in graph.get(file).into_iter().flatten() {
            if reached.insert(*other) {
                next.push(*other);
            }
        }
    }
    reached
}

#[cfg(test)]
#[path = "circles_tests.rs"]
mod circles_tests;
