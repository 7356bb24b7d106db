//! The table of ceilings, `ceilings.txt`: a key and a number a line.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::measure::{Measure, Measures};

/// Of one measure's sites, this many are listed.
const SITES_LISTED: usize = 40;

/// How high each measure may be; the ceiling of all others is zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ceilings(BTreeMap<String, usize>);

/// Why the table cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CeilingsError {
    /// A line has no number at its end.
    #[error("ceilings.txt, line {line}: write a key and a number above 0, not {text:?}")]
    NoNumber {
        /// Which line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A key has two numbers.
    #[error("ceilings.txt, line {line}: {key:?} is there twice; leave the lower number")]
    Twice {
        /// Which line, from 1.
        line: usize,
        /// The key.
        key: String,
    },
}

impl Ceilings {
    /// Reads the table. Lines that begin with `#` are comments.
    pub fn parse(text: &str) -> Result<Ceilings, CeilingsError> {
        let mut ceilings = BTreeMap::new();
        for (at, text) in text.lines().enumerate() {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let line = at + 1;
            let (key, number) = text.rsplit_once(' ').unwrap_or((text, ""));
            let number = number.parse().ok().filter(|number| *number > 0);
            let Some(number) = number else {
                let text = text.to_owned();
                return Err(CeilingsError::NoNumber { line, text });
            };
            if ceilings.insert(key.to_owned(), number).is_some() {
                let key = key.to_owned();
                return Err(CeilingsError::Twice { line, key });
            }
        }
        Ok(Ceilings(ceilings))
    }

    /// The table as text, with `head` before it.
    pub fn text(&self, head: &str) -> String {
        let mut text = head.to_owned();
        for (key, number) in &self.0 {
            let _ = writeln!(text, "{key} {number}");
        }
        text
    }

    /// These ceilings, none of them above today's measure.
    pub fn lowered(&self, measures: &Measures) -> Ceilings {
        let lowered = self.0.iter().filter_map(|(key, ceiling)| {
            let count = measures.get(key).map_or(0, |measure| measure.count);
            (count > 0).then(|| (key.clone(), count.min(*ceiling)))
        });
        Ceilings(lowered.collect())
    }

    /// The measures above their ceilings, and what to do about each. `age` sorts the sites of a measure: those of
    /// files changed last come first.
    pub fn above(&self, measures: &Measures, age: impl Fn(&str) -> u64) -> Vec<String> {
        let ceiling = |key: &str| self.0.get(key).copied().unwrap_or(0);
        let above = measures
            .iter()
            .filter(|(key, measure)| measure.count > ceiling(key));
        above
            .map(|(key, measure)| explain(key, measure, ceiling(key), &age))
            .collect()
    }

    /// The ceilings above their measures: they have to come down, so that the numbers stay down.
    pub fn below(&self, measures: &Measures) -> Vec<String> {
        let counts = self.0.iter().map(|(key, ceiling)| {
            let count = measures.get(key).map_or(0, |measure| measure.count);
            (key, count, ceiling)
        });
        let below = counts.filter(|(_, count, ceiling)| count < ceiling);
        below
            .map(|(key, count, ceiling)| {
                format!(
                    "{key}: {count} now, its ceiling is {ceiling}. Lower it, so that it stays so: \
                     DUNLIN_TIDY=lower cargo test --release -p dunlin-tidy"
                )
            })
            .collect()
    }
}

fn explain(key: &str, measure: &Measure, ceiling: usize, age: impl Fn(&str) -> u64) -> String {
    let mut text = format!(
        "{key}: {}, its ceiling is {ceiling}. {}",
        measure.count, measure.advice
    );
    let mut sites: Vec<_> = measure.sites.iter().collect();
    sites.sort_by_key(|site| age(&site.file));
    for site in sites.iter().take(SITES_LISTED) {
        let _ = write!(text, "\n    {}:{}: {}", site.file, site.line, site.text);
    }
    if sites.len() > SITES_LISTED {
        let _ = write!(text, "\n    and {} more", sites.len() - SITES_LISTED);
    }
    text
}

#[cfg(test)]
#[path = "ceilings_tests.rs"]
mod ceilings_tests;
