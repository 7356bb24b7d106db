//! Which file is which module of a crate, from its `mod` items.

use std::collections::BTreeMap;

use crate::house::Crate;
use crate::source::Source;

/// The modules of one program or library, the first of them its root.
pub struct Modules<'h> {
    pub all: Vec<Module<'h>>,
}

/// A module, in a file of its own or inside one.
pub struct Module<'h> {
    pub source: &'h Source,
    pub items: &'h [syn::Item],
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    /// Whether it, or a module around it, is there for tests alone.
    pub is_test: bool,
}

impl<'h> Modules<'h> {
    /// The modules of `member` that begin in the file `root`.
    pub fn read(member: &'h Crate, root: &'h Source) -> Modules<'h> {
        let mut modules = Modules { all: Vec::new() };
        let folder = folder(&root.path);
        modules.add(member, root, &root.syntax.items, None, false, &folder);
        modules
    }

    /// `below` is the folder in which files of child modules are.
    fn add(
        &mut self,
        member: &'h Crate,
        source: &'h Source,
        items: &'h [syn::Item],
        parent: Option<usize>,
        is_test: bool,
        below: &str,
    ) -> usize {
        let this = self.all.len();
        self.all.push(Module {
            source,
            items,
            parent,
            children: BTreeMap::new(),
            is_test,
        });
        for item in items {
            let syn::Item::Mod(item) = item else { continue };
            let name = item.ident.to_string();
            let is_test = is_test || is_for_tests(&item.attrs);
            let child = match &item.content {
                Some((_, items)) => {
                    let below = format!("{below}{name}/");
                    Some(self.add(member, source, items, Some(this), is_test, &below))
                }
                None => file_of(member, source, item, below).map(|(child, below)| {
                    self.add(
                        member,
                        child,
                        &child.syntax.items,
                        Some(this),
                        is_test,
                        &below,
                    )
                }),
            };
            if let Some(child) = child {
                self.all[this].children.insert(name, child);
            }
        }
        this
    }
}

/// The file of `mod name;`, and the folder of its own children.
fn file_of<'h>(
    member: &'h Crate,
    source: &Source,
    item: &syn::ItemMod,
    below: &str,
) -> Option<(&'h Source, String)> {
    let find = |path: &str| member.sources.iter().find(|source| source.path == path);
    let named = item
        .attrs
        .iter()
        .find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(path),
                    ..
                }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        });
    if let Some(named) = named {
        let path = plain(&format!("{}{named}", folder(&source.path)));
        return find(&path).map(|child| (child, folder(&path)));
    }
    let folder = format!("{below}{}/", item.ident);
    find(&format!("{below}{}.rs", item.ident))
        .or_else(|| find(&format!("{folder}mod.rs")))
        .map(|child| (child, folder))
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// The folder of a file, with a slash at its end.
fn folder(path: &str) -> String {
    path.rsplit_once('/')
        .map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

/// `path` without `..` and `.`.
pub fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The files in which programs and libraries of `member` begin.
pub fn roots(member: &Crate) -> Vec<&Source> {
    let named = named_roots(member);
    let is_root = |source: &&Source| {
        let Some(path) = source.path.strip_prefix(&format!("{}/", member.folder)) else {
            return false;
        };
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["src", "lib.rs" | "main.rs"] | ["build.rs"] | ["src", "bin", _] => true,
            ["tests" | "examples" | "benches", _] => true,
            ["tests" | "examples" | "benches", _, "main.rs"] | ["src", "bin", _, "main.rs"] => true,
            _ => named.iter().any(|named| named == path),
        }
    };
    member.sources.iter().filter(is_root).collect()
}

/// Those that Cargo.toml names.
fn named_roots(member: &Crate) -> Vec<String> {
    let lists = ["bin", "test", "example", "bench"]
        .iter()
        .filter_map(|kind| member.manifest.get(*kind)?.as_array());
    let tables = lists.flatten().chain(member.manifest.get("lib"));
    tables
        .filter_map(|table| Some(table.get("path")?.as_str()?.to_owned()))
        .collect()
}
