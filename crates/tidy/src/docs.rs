//! Docs: paths that exist, decisions with a status, and an index of all of them.

use crate::house::House;
use crate::measure::{Measures, Site};
use crate::modules::plain;
use crate::page::Page;

const DECISIONS: &str = "docs/decisions/";
const STATUSES: [&str; 3] = [
    "Status: accepted",
    "Status: rejected",
    "Status: superseded by ",
];

pub fn measure(house: &House, measures: &mut Measures) {
    let paths = paths(house);
    for page in &house.pages {
        for (code, line) in &page.code {
            if is_path(code) && !exists(&paths, code) {
                measures.add(
                    format!("doc-paths {}", page.path),
                    page.at(*line, code),
                    || "No such file or folder: say where it is now.".to_owned(),
                );
            }
        }
        for (link, line) in &page.links {
            if !leads_somewhere(house, page, link) {
                measures.add(
                    format!("doc-links {}", page.path),
                    page.at(*line, link),
                    || "The link leads nowhere: say where it is now.".to_owned(),
                );
            }
        }
    }
    decisions(house, measures);
}

/// Whether a code span names a file or folder of this repository: it has a slash or the end of one of its kinds
/// of files, and nothing that a path has not.
fn is_path(code: &str) -> bool {
    const ENDS: [&str; 6] = [".rs", ".md", ".sh", ".py", ".toml", ".mod"];
    // An absolute path is on the reader's machine, and `_tests.rs` is an ending.
    let plain = !code.starts_with(['/', '_'])
        && code
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let starts = [
        "crates/",
        "docs/",
        "scripts/",
        "contrib/",
        "packaging/",
        "examples/",
        "fuzz/",
    ];
    plain
        && (ENDS.iter().any(|end| code.ends_with(end))
            || starts.iter().any(|start| code.starts_with(start)))
}

/// All paths of the repository, those with `src` once more without it.
fn paths(house: &House) -> Vec<String> {
    let all = house.paths.iter().map(|path| path.trim_end_matches('/'));
    let mut paths: Vec<_> = all
        .flat_map(|path| [path.to_owned(), path.replace("/src/", "/")])
        .collect();
    paths.dedup();
    paths
}

/// Whether a path, or the end of one, is there.
fn exists(paths: &[String], code: &str) -> bool {
    let code = plain(code);
    let code = code.trim_matches('/');
    let ends_so = |path: &String| {
        path.strip_suffix(code)
            .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    paths.iter().any(ends_so)
}

fn leads_somewhere(house: &House, page: &Page, link: &str) -> bool {
    let path = link.split('#').next().unwrap_or_default();
    if path.is_empty() || link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = plain(&format!("{folder}/{path}"));
    let path = path.trim_matches('/');
    house
        .paths
        .iter()
        .any(|known| known.trim_end_matches('/') == path)
}

fn decisions(house: &House, measures: &mut Measures) {
    let index = format!("{DECISIONS}README.md");
    let listed = house.pages.iter().find(|page| page.path == index);
    for page in &house.pages {
        let Some(name) = page
            .path
            .strip_prefix(DECISIONS)
            .filter(|name| *name != "README.md")
        else {
            continue;
        };
        let has_status = page
            .prose
            .iter()
            .any(|(text, _)| STATUSES.iter().any(|status| text.starts_with(status)));
        if !has_status {
            measures.add(format!("decision-status {name}"), page.at(1, ""), || {
                format!(
                    "Begin a line under its title with one of: {}.",
                    STATUSES.join(", ")
                )
            });
        }
        if !listed.is_some_and(|index| index.links.iter().any(|(link, _)| link == name)) {
            let site = Site::new(&index, 0, name);
            measures.add(format!("decision-index {name}"), site, || {
                "Give it a line in the index of decisions, with a link.".to_owned()
            });
        }
    }
}

#[cfg(test)]
#[path = "docs_tests.rs"]
mod docs_tests;
