//! A whole history: each key is judged by itself, for a register each is what a history promises.

use std::collections::BTreeMap;

use crate::excerpt::excerpt;
use crate::prepare::prepare;
use crate::search::{Found, search};
use crate::{Operation, Report};

/// How much is tried before a key is left undecided.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Configurations looked at, for each key; each takes about a microsecond, and 100 bytes.
    pub states: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: 5_000_000 }
    }
}

/// Judges a history, whose operations may come in any order.
pub fn check(operations: &[Operation], limits: Limits) -> Report {
    let mut keys: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in operations {
        keys.entry(&operation.key).or_default().push(operation);
    }
    let mut report = Report {
        keys: keys.len(),
        operations: operations.len(),
        ..Report::default()
    };
    for (key, operations) in keys {
        let (found, states) = search(&prepare(operations.iter().copied()), limits.states);
        report.states += states;
        match found {
            Found::Order => {}
            Found::None => report.violations.push(excerpt(operations, limits)),
            Found::Undecided => report.undecided.push(key.to_owned()),
        }
    }
    report
}
