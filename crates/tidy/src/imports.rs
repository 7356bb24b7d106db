//! Which file a `use` leads to.

use crate::modules::{Module, Modules};

/// One name of a `use` item: where it comes from, and as what it is known here.
struct Import {
    path: Vec<String>,
    name: String,
    /// Whether other modules may import it from here (`pub use`).
    is_passed_on: bool,
}

/// How many re-exports are followed, one after the other.
const HOPS_MAX: usize = 8;

/// The modules whose names module `from` imports for itself, each once for each name. What it only passes on to
/// others is theirs to count.
pub fn imports(modules: &Modules, from: usize) -> Vec<usize> {
    let mut found = read(&modules.all[from]);
    found.retain(|import| !import.is_passed_on);
    found
        .iter()
        .filter_map(|import| resolve(modules, from, &import.path, HOPS_MAX))
        .collect()
}

/// The module that defines what `path`, seen from `from`, leads to; nothing where that is another crate.
fn resolve(modules: &Modules, from: usize, path: &[String], hops: usize) -> Option<usize> {
    let mut at = from;
    let mut parts = path;
    match parts.first()?.as_str() {
        "crate" => {
            at = 0;
            parts = &parts[1..];
        }
        "self" => parts = &parts[1..],
        "super" => {
            while parts.first().is_some_and(|part| part == "super") {
                at = modules.all[at].parent?;
                parts = &parts[1..];
            }
        }
        first => {
            modules.all[from].children.get(first)?;
        }
    }
    while let Some(child) = parts
        .first()
        .and_then(|part| modules.all[at].children.get(part))
    {
        at = *child;
        parts = &parts[1..];
    }
    if at == from {
        return None;
    }
    let Some(name) = parts.first() else {
        return Some(at);
    };
    let passed_on = read(&modules.all[at])
        .into_iter()
        .find(|import| import.name == *name);
    match passed_on {
        Some(import) if hops > 0 => resolve(modules, at, &import.path, hops - 1).or(Some(at)),
        _ => Some(at),
    }
}

fn read(module: &Module) -> Vec<Import> {
    let mut found = Vec::new();
    for item in module.items {
        if let syn::Item::Use(item) = item {
            let before = found.len();
            flatten(&item.tree, &mut Vec::new(), &mut found);
            let is_passed_on = !matches!(item.vis, syn::Visibility::Inherited);
            found[before..]
                .iter_mut()
                .for_each(|import| import.is_passed_on = is_passed_on);
        }
    }
    found
}

fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<Import>) {
    let import = |name: &syn::Ident, known: &syn::Ident| {
        let mut path = before.clone();
        // `use a::{self}` is `use a`.
        let name = name.to_string();
        let known = if name == "self" {
            before.last().cloned().unwrap_or_default()
        } else {
            known.to_string()
        };
        if name != "self" {
            path.push(name);
        }
        Import {
            path,
            name: known,
            is_passed_on: false,
        }
    };
    match tree {
        syn::UseTree::Path(tree) => {
            before.push(tree.ident.to_string());
            flatten(&tree.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(tree) => found.push(import(&tree.ident, &tree.ident)),
        syn::UseTree::Rename(tree) => found.push(import(&tree.ident, &tree.rename)),
        syn::UseTree::Glob(_) => found.push(Import {
            path: before.clone(),
            name: "*".to_owned(),
            is_passed_on: false,
        }),
        syn::UseTree::Group(tree) => tree
            .items
            .iter()
            .for_each(|tree| flatten(tree, before, found)),
    }
}
