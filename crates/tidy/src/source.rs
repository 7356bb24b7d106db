//! One Rust file: its syntax, and what it says in names, comments and strings.

use proc_macro2::{Delimiter, Literal, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::measure::Site;

/// A Rust file.
pub struct Source {
    /// From the repository's root.
    pub path: String,
    /// Its lines.
    pub lines: usize,
    /// Why it does not parse, and in which line; its syntax and names are missing then.
    pub problem: Option<(String, usize)>,
    /// Its items.
    pub syntax: syn::File,
    /// The names it defines: of items, fields, variants, parameters and variables. Names of methods that
    /// implement a trait are the trait's.
    pub names: Vec<(String, usize)>,
    /// The text of each line of its comments, documentation too.
    pub comments: Vec<(String, usize)>,
    /// Its string literals, but for paths of modules.
    pub strings: Vec<(String, usize)>,
}

impl Source {
    /// Reads a Rust file.
    pub fn parse(path: &str, text: &str) -> Source {
        let mut source = Source {
            path: path.to_owned(),
            lines: text.lines().count(),
            problem: None,
            syntax: syn::File {
                shebang: None,
                attrs: Vec::new(),
                items: Vec::new(),
            },
            names: Vec::new(),
            comments: Vec::new(),
            strings: Vec::new(),
        };
        match text.parse::<TokenStream>() {
            Ok(tokens) => source.read(text, tokens),
            Err(e) => source.problem = Some((e.to_string(), e.span().start().line)),
        }
        source
    }

    fn read(&mut self, text: &str, tokens: TokenStream) {
        let mut speech = Speech {
            text,
            end: 0,
            line: 1,
            comments: Vec::new(),
            strings: Vec::new(),
        };
        speech.read(tokens.clone());
        speech.gap(text.len());
        self.comments = speech.comments;
        self.strings = speech.strings;
        match syn::parse2(tokens) {
            Ok(syntax) => self.syntax = syntax,
            Err(e) => self.problem = Some((e.to_string(), e.span().start().line)),
        }
        let mut defined = Defined(Vec::new());
        defined.visit_file(&self.syntax);
        self.names = defined.0;
    }

    /// The place of `span` in this file.
    pub fn site(&self, span: Span, text: impl Into<String>) -> Site {
        self.at(span.start().line, text)
    }

    /// The place at `line` of this file.
    pub fn at(&self, line: usize, text: impl Into<String>) -> Site {
        Site::new(&self.path, line, text)
    }
}

/// Takes comments and strings out of tokens. Comments that are no documentation are what lies between two tokens.
struct Speech<'t> {
    text: &'t str,
    /// Up to this byte, which is in this line, the text has been read.
    end: usize,
    line: usize,
    comments: Vec<(String, usize)>,
    strings: Vec<(String, usize)>,
}

impl Speech<'_> {
    fn read(&mut self, tokens: TokenStream) {
        // The last two tokens, to know `path = ".."`.
        let mut before = [String::new(), String::new()];
        for token in tokens {
            match &token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                    self.read(group.stream())
                }
                TokenTree::Group(group) => {
                    self.token(group.span_open());
                    self.read(group.stream());
                    self.token(group.span_close());
                }
                TokenTree::Literal(literal) => {
                    let is_path = before[0] == "path" && before[1] == "=";
                    self.literal(literal, is_path);
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => self.token(token.span()),
            }
            before = [std::mem::take(&mut before[1]), token.to_string()];
        }
    }

    fn literal(&mut self, literal: &Literal, is_path: bool) {
        let range = literal.span().byte_range();
        let line = literal.span().start().line;
        let Some(text) = self.text.get(range) else {
            return;
        };
        if text.starts_with("//") || text.starts_with("/*") {
            // Documentation, which the lexer makes an attribute of.
            self.comment(text, line);
        } else if text.contains('"') && !is_path {
            self.strings.push((text.to_owned(), line));
        }
        self.token(literal.span());
    }

    /// A token is here; what lies before it is a comment or nothing.
    fn token(&mut self, span: Span) {
        let range = span.byte_range();
        if range.start >= self.end {
            self.gap(range.start);
            self.end = range.end;
            self.line = span.end().line;
        }
    }

    /// Between the last token and `to` there is no token.
    fn gap(&mut self, to: usize) {
        if let Some(text) = self.text.get(self.end..to)
            && text.contains('/')
        {
            self.comment(text, self.line);
        }
    }

    fn comment(&mut self, text: &str, first: usize) {
        for (at, line) in text.lines().enumerate() {
            let line = line.trim().trim_start_matches(['/', '*', '!']).trim();
            if !line.is_empty() {
                self.comments.push((line.to_owned(), first + at));
            }
        }
    }
}

struct Defined(Vec<(String, usize)>);

impl Defined {
    fn add(&mut self, ident: &syn::Ident) {
        self.0.push((ident.to_string(), ident.span().start().line));
    }
}

impl<'a> Visit<'a> for Defined {
    fn visit_item(&mut self, item: &'a syn::Item) {
        match item {
            syn::Item::Const(item) => self.add(&item.ident),
            syn::Item::Enum(item) => self.add(&item.ident),
            syn::Item::Fn(item) => self.add(&item.sig.ident),
            syn::Item::Mod(item) => self.add(&item.ident),
            syn::Item::Static(item) => self.add(&item.ident),
            syn::Item::Struct(item) => self.add(&item.ident),
            syn::Item::Trait(item) => self.add(&item.ident),
            syn::Item::Type(item) => self.add(&item.ident),
            syn::Item::Macro(item) => item.ident.iter().for_each(|ident| self.add(ident)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        for inner in &item.items {
            match inner {
                syn::ImplItem::Fn(inner) if item.trait_.is_none() => self.add(&inner.sig.ident),
                syn::ImplItem::Const(inner) if item.trait_.is_none() => self.add(&inner.ident),
                _ => {}
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item(&mut self, item: &'a syn::TraitItem) {
        match item {
            syn::TraitItem::Fn(item) => self.add(&item.sig.ident),
            syn::TraitItem::Const(item) => self.add(&item.ident),
            syn::TraitItem::Type(item) => self.add(&item.ident),
            _ => {}
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        field.ident.iter().for_each(|ident| self.add(ident));
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.add(&variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        // `None` and the like in a pattern are names of others.
        if pattern.ident.to_string().starts_with(char::is_lowercase) {
            self.add(&pattern.ident);
        }
        visit::visit_pat_ident(self, pattern);
    }

    /// In `Struct { told, .. }` the name is the field's.
    fn visit_field_pat(&mut self, pattern: &'a syn::FieldPat) {
        if pattern.colon_token.is_some() {
            self.visit_pat(&pattern.pat);
        }
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod source_tests;
