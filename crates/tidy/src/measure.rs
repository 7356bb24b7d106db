//! What rules say: a number for a key, where it comes from, and what to do.

use std::collections::BTreeMap;

/// A place in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// From the root of the repository.
    pub file: String,
    /// From 1; 0 for all of the file.
    pub line: usize,
    /// The text there.
    pub text: String,
}

impl Site {
    /// The place at `line` of `file`.
    pub fn new(file: impl Into<String>, line: usize, text: impl Into<String>) -> Site {
        Site {
            file: file.into(),
            line,
            text: text.into(),
        }
    }
}

/// One number that has a ceiling.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Today's number.
    pub count: usize,
    /// What makes it up.
    pub sites: Vec<Site>,
    /// What to do when it is too large.
    pub advice: String,
}

/// All measures by key: the rule, then what it is about, in words without blanks.
#[derive(Debug, Default)]
pub struct Measures(BTreeMap<String, Measure>);

impl Measures {
    /// Adds one to the measure `key`, for the text at `site`.
    pub fn add(&mut self, key: String, site: Site, advice: impl FnOnce() -> String) {
        let measure = self.entry(key, advice);
        measure.count += 1;
        measure.sites.push(site);
    }

    /// Sets the measure `key` to `count`; the larger one stays where there are two.
    pub fn set(&mut self, key: String, count: usize, site: Site, advice: impl FnOnce() -> String) {
        let measure = self.entry(key, advice);
        measure.count = measure.count.max(count);
        measure.sites.push(site);
    }

    /// The measure `key`; one of zero where nothing was found.
    pub fn get(&self, key: &str) -> Option<&Measure> {
        self.0.get(key)
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Measure)> {
        self.0.iter().map(|(key, measure)| (key.as_str(), measure))
    }

    fn entry(&mut self, key: String, advice: impl FnOnce() -> String) -> &mut Measure {
        self.0.entry(key).or_insert_with(|| Measure {
            advice: advice(),
            ..Measure::default()
        })
    }
}
