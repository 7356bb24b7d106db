//! Repositories that consist of a few lines, for the tests of rules.

#![allow(clippy::unwrap_used)]

use crate::house::House;
use crate::measure::Measures;

/// What `rule` measures in a repository of `files`: keys and numbers.
pub fn measured(rule: fn(&House, &mut Measures), files: &[(&str, &str)]) -> Vec<String> {
    let mut measures = Measures::default();
    rule(&house(files), &mut measures);
    measures
        .iter()
        .map(|(key, measure)| format!("{key} {}", measure.count))
        .collect()
}

/// The repository that consists of `files`, and of a crate `new` without anything that it uses.
pub fn house(files: &[(&str, &str)]) -> House {
    let manifest = [(
        "crates/new/Cargo.toml",
        "[package]\nname = \"dunlin-new\"\n",
    )];
    let missing = manifest
        .iter()
        .filter(|(path, _)| files.iter().all(|(other, _)| other != path));
    let files: Vec<_> = missing
        .chain(files)
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let paths = files.iter().map(|(path, _)| path.clone()).collect();
    House::of(files, paths).unwrap()
}
