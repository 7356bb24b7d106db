//! What the rules read: the repository's crates and pages.

use std::fs;
use std::path::Path;

use crate::error::HouseError;
use crate::page::Page;
use crate::source::Source;

/// The repository, read once.
pub struct House {
    /// Its crates, by folder; `fuzz` is one of them.
    pub crates: Vec<Crate>,
    /// Its Markdown files.
    pub pages: Vec<Page>,
    /// All its files and folders, from its root.
    pub paths: Vec<String>,
}

/// A crate of the repository.
pub struct Crate {
    /// The last part of its folder.
    pub name: String,
    /// Its folder, from the repository's root.
    pub folder: String,
    /// Its Cargo.toml.
    pub manifest: toml::Table,
    /// Its Rust files, by path.
    pub sources: Vec<Source>,
}

impl House {
    /// Reads the repository at `root`.
    pub fn read(root: &Path) -> Result<House, HouseError> {
        let mut paths = Vec::new();
        walk(root, "", &ignored(root)?, &mut paths)?;
        paths.sort();
        let mut files = Vec::new();
        for path in &paths {
            let is_read = [".rs", ".md", "Cargo.toml"]
                .iter()
                .any(|end| path.ends_with(end));
            if is_read {
                files.push((path.clone(), read(&root.join(path))?));
            }
        }
        House::of(files, paths)
    }

    /// The repository that consists of `files`, each with its text.
    pub fn of(files: Vec<(String, String)>, paths: Vec<String>) -> Result<House, HouseError> {
        let mut crates = Vec::new();
        for (path, text) in &files {
            let Some(folder) = path.strip_suffix("/Cargo.toml") else {
                continue;
            };
            let manifest = text.parse().map_err(|source| HouseError::Manifest {
                path: path.clone(),
                source,
            })?;
            let mut sources = Vec::new();
            for (path, text) in &files {
                if path.ends_with(".rs") && path.starts_with(&format!("{folder}/")) {
                    sources.push(Source::parse(path, text));
                }
            }
            crates.push(Crate {
                name: folder.rsplit('/').next().unwrap_or(folder).to_owned(),
                folder: folder.to_owned(),
                manifest,
                sources,
            });
        }
        let pages = files.iter().filter(|(path, _)| path.ends_with(".md"));
        Ok(House {
            crates,
            pages: pages.map(|(path, text)| Page::parse(path, text)).collect(),
            paths,
        })
    }

    /// The Rust files of all crates.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.crates.iter().flat_map(|member| &member.sources)
    }
}

/// The folders that git ignores, and its own.
fn ignored(root: &Path) -> Result<Vec<String>, HouseError> {
    let text = read(&root.join(".gitignore"))?;
    let lines = text.lines().map(|line| line.trim_matches('/').to_owned());
    Ok(lines
        .filter(|line| !line.is_empty())
        .chain([".git".to_owned()])
        .collect())
}

fn walk(
    root: &Path,
    below: &str,
    ignored: &[String],
    paths: &mut Vec<String>,
) -> Result<(), HouseError> {
    let folder = root.join(below);
    let refused = |source| HouseError::Read {
        path: folder.clone(),
        source,
    };
    for entry in fs::read_dir(&folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if ignored.contains(&name) {
            continue;
        }
        let path = format!("{below}{name}");
        if entry.file_type().map_err(refused)?.is_dir() {
            let path = format!("{path}/");
            walk(root, &path, ignored, paths)?;
            paths.push(path);
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, HouseError> {
    fs::read_to_string(path).map_err(|source| HouseError::Read {
        path: path.to_owned(),
        source,
    })
}
