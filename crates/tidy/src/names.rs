//! Names: public types of one name within a crate.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use crate::house::House;
use crate::measure::{Measures, Site};

pub fn measure(house: &House, measures: &mut Measures) {
    for member in &house.crates {
        let mut types: BTreeMap<String, Vec<Site>> = BTreeMap::new();
        for source in &member.sources {
            if !source.path.starts_with(&format!("{}/src/", member.folder)) {
                continue;
            }
            let mut public = Public(Vec::new());
            public.visit_file(&source.syntax);
            for ident in public.0 {
                let site = source.site(ident.span(), ident.to_string());
                types.entry(ident.to_string()).or_default().push(site);
            }
        }
        for (name, sites) in types.into_iter().filter(|(_, sites)| sites.len() > 1) {
            for site in sites {
                measures.add(format!("names {} {name}", member.name), site, || {
                    "One noun for one concept: give each type of a crate a name of its own."
                        .to_owned()
                });
            }
        }
    }
}

/// The types that more than one file can see.
struct Public<'h>(Vec<&'h syn::Ident>);

impl<'h> Public<'h> {
    fn add(&mut self, visibility: &syn::Visibility, ident: &'h syn::Ident) {
        if !matches!(visibility, syn::Visibility::Inherited) {
            self.0.push(ident);
        }
    }
}

impl<'h> Visit<'h> for Public<'h> {
    fn visit_item(&mut self, item: &'h syn::Item) {
        match item {
            syn::Item::Struct(item) => self.add(&item.vis, &item.ident),
            syn::Item::Enum(item) => self.add(&item.vis, &item.ident),
            syn::Item::Trait(item) => self.add(&item.vis, &item.ident),
            syn::Item::Type(item) => self.add(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod names_tests;
