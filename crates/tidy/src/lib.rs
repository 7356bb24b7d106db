//! Reads the sources and documents of this repository and holds them to the rules of the house.
//!
//! A rule measures something that should not grow: files that import each other, long functions, words that
//! are not the field's. `ceilings.txt` beside this crate has the number that stands for each measure today.
//! The test `the_house_is_tidy` fails when a number is above its ceiling, and when it is below: then the
//! ceiling has to come down, which `DUNLIN_TIDY=lower cargo test --release -p dunlin-tidy` does.
//!
//! | file | holds |
//! |---|---|
//! | `house` | the repository, read: crates, sources, pages |
//! | `error` | why it cannot be read |
//! | `source` | one Rust file: its syntax, and what it says in names, comments and strings |
//! | `page` | one Markdown file: its prose, code spans and links |
//! | `modules` | which file is which module of a crate, from `mod` items |
//! | `imports` | which file a `use` leads to |
//! | `layers` `circles` `names` `shape` `unlinked` `words` `docs` | a rule each |
//! | `glossary` | the words of the rule `words`, with what to say instead |
//! | `ceilings` | comparing measures with `ceilings.txt`, and lowering it |
#![deny(unsafe_code)]

mod ceilings;
mod circles;
mod docs;
mod error;
mod glossary;
mod house;
mod imports;
mod layers;
mod measure;
mod modules;
mod names;
mod page;
mod shape;
mod source;
mod unlinked;
mod words;

pub use ceilings::{Ceilings, CeilingsError};
pub use error::HouseError;
pub use house::House;
pub use measure::{Measure, Measures, Site};

/// Everything the rules measure in `house`. Where a file does not parse, nothing is known of the structure.
pub fn measure(house: &House) -> Measures {
    let mut measures = Measures::default();
    syntax(house, &mut measures);
    words::measure(house, &mut measures);
    docs::measure(house, &mut measures);
    if is_parsed(house) {
        layers::measure(house, &mut measures);
        circles::measure(house, &mut measures);
        names::measure(house, &mut measures);
        shape::measure(house, &mut measures);
        unlinked::measure(house, &mut measures);
    }
    measures
}

/// Whether all Rust files of `house` parse.
pub fn is_parsed(house: &House) -> bool {
    house.sources().all(|source| source.problem.is_none())
}

/// Rust files that do not parse.
fn syntax(house: &House, measures: &mut Measures) {
    for source in house.sources() {
        if let Some((problem, line)) = &source.problem {
            measures.add(
                format!("syntax {}", source.path),
                source.at(*line, problem),
                || "It does not parse: fix it first.".to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
#[path = "house_tests.rs"]
mod house_tests;
