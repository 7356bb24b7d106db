//! Shape: files, functions, structs and parameter lists that one can overlook.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::house::House;
use crate::measure::{Measures, Site};
use crate::source::Source;

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 100;
const STRUCT_FIELDS_MAX: usize = 20;
const PARAMETERS_MAX: usize = 6;

pub fn measure(house: &House, measures: &mut Measures) {
    for source in house.sources() {
        let mut shapes = Shapes { source, measures };
        let site = source.at(0, "");
        shapes.limit(
            "file-lines",
            FILE_LINES_MAX,
            "",
            source.lines,
            site,
            "Cut the file along its nouns.",
        );
        shapes.visit_file(&source.syntax);
    }
}

struct Shapes<'m> {
    source: &'m Source,
    measures: &'m mut Measures,
}

impl Shapes<'_> {
    fn limit(
        &mut self,
        rule: &str,
        max: usize,
        name: &str,
        count: usize,
        site: Site,
        advice: &str,
    ) {
        if count > max {
            let key = format!("{rule} {} {name}", self.source.path);
            self.measures
                .set(key.trim_end().to_owned(), count, site, || {
                    format!("At most {max}. {advice}")
                });
        }
    }

    /// `whole` is the function from its signature to its end.
    fn function(&mut self, signature: &syn::Signature, whole: &impl Spanned) {
        let name = signature.ident.to_string();
        let lines = whole.span().end().line - signature.span().start().line + 1;
        let site = self.source.site(signature.ident.span(), &name);
        let advice = "Give each step of the function a name.";
        self.limit(
            "function-lines",
            FUNCTION_LINES_MAX,
            &name,
            lines,
            site.clone(),
            advice,
        );
        let parameters = signature
            .inputs
            .iter()
            .filter(|input| matches!(input, syn::FnArg::Typed(_)))
            .count();
        let advice = "Make a struct of what belongs together.";
        self.limit(
            "parameters",
            PARAMETERS_MAX,
            &name,
            parameters,
            site,
            advice,
        );
    }
}

impl<'a> Visit<'a> for Shapes<'_> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig, item);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(&item.sig, item);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.function(&item.sig, item);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        let site = self.source.site(item.ident.span(), item.ident.to_string());
        let advice = "Make parts of it: structs of the fields that are used together.";
        let name = item.ident.to_string();
        self.limit(
            "struct-fields",
            STRUCT_FIELDS_MAX,
            &name,
            item.fields.len(),
            site,
            advice,
        );
        visit::visit_item_struct(self, item);
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod shape_tests;
