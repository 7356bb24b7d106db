//! Words: how often each crate, and the documents, use a word that the glossary replaces.
//!
//! Of names it counts where they are defined: code that has to use an old name is not to blame for it. In prose
//! text in backticks is a name, and does not count.

use crate::glossary::{Scope, TERMS, Term};
use crate::house::House;
use crate::measure::{Measures, Site};

pub fn measure(house: &House, measures: &mut Measures) {
    for member in &house.crates {
        for source in &member.sources {
            let mut count = |kind: Kind, texts: &[(String, usize)]| {
                for (text, line) in texts {
                    let place = format!("{} {}", member.name, kind.name());
                    find(measures, kind, &place, text, || source.at(*line, text));
                }
            };
            count(Kind::Name, &source.names);
            count(Kind::Comment, &source.comments);
            // The glossary and its tests consist of these words.
            if member.name != "tidy" {
                count(Kind::String, &source.strings);
            }
        }
    }
    for page in &house.pages {
        for (text, line) in &page.prose {
            find(measures, Kind::Document, "docs prose", text, || {
                page.at(*line, text)
            });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Comment,
    String,
    Document,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Name => "identifiers",
            Kind::Comment => "comments",
            Kind::String => "strings",
            Kind::Document => "prose",
        }
    }
}

fn find(measures: &mut Measures, kind: Kind, place: &str, text: &str, site: impl Fn() -> Site) {
    let words = match kind {
        Kind::Name => of_name(text),
        _ => of_prose(text),
    };
    for term in TERMS {
        for _ in 0..uses(term, kind, text, &words) {
            let name = term
                .old
                .first()
                .map_or(String::new(), |old| old.replace(' ', "_"));
            measures.add(format!("words {place} {name}"), site(), || {
                format!("Say: {}.", term.new)
            });
        }
    }
}

/// How often `term` is in `text`, which consists of `words`.
fn uses(term: &Term, kind: Kind, text: &str, words: &[String]) -> usize {
    match (term.scope, kind) {
        (Scope::Types, Kind::Name) => term.old.iter().filter(|old| **old == text).count(),
        (Scope::Names, Kind::Name) | (Scope::Everywhere, _) => matches(term, words),
        (Scope::Prose, Kind::Comment | Kind::String | Kind::Document) => matches(term, words),
        _ => 0,
    }
}

fn matches(term: &Term, words: &[String]) -> usize {
    let count = |old: &&str| {
        let form = || old.split([' ', '_']);
        let windows = words.windows(form().count());
        windows.filter(|window| form().eq(window.iter())).count()
    };
    term.old.iter().map(count).sum()
}

/// The words of a name, in lower case: `is_told` and `IsTold` are two.
fn of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The words of prose, in lower case, without text in backticks or braces.
fn of_prose(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let (mut in_code, mut in_braces, mut escaped) = (false, false, false);
    for c in text.chars() {
        let skipped = in_code || in_braces || escaped;
        escaped = c == '\\' && !escaped;
        match c {
            '`' => in_code = !in_code,
            '{' => in_braces = true,
            '}' => in_braces = false,
            _ => {}
        }
        plain.push(if skipped || !c.is_alphabetic() {
            ' '
        } else {
            c
        });
    }
    plain
        .to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod words_tests;
