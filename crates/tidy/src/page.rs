//! One Markdown file: its prose, code spans and links.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::measure::Site;

/// A Markdown file.
pub struct Page {
    /// From the repository's root.
    pub path: String,
    /// Its text, without code.
    pub prose: Vec<(String, usize)>,
    /// The text in backticks within a line.
    pub code: Vec<(String, usize)>,
    /// Where its links lead.
    pub links: Vec<(String, usize)>,
}

impl Page {
    /// Reads a Markdown file.
    pub fn parse(path: &str, text: &str) -> Page {
        let mut page = Page {
            path: path.to_owned(),
            prose: Vec::new(),
            code: Vec::new(),
            links: Vec::new(),
        };
        let mut in_block = false;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = || text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_block = true,
                Event::End(TagEnd::CodeBlock) => in_block = false,
                Event::Text(prose) if !in_block => page.prose.push((prose.into_string(), line())),
                Event::Code(code) => page.code.push((code.into_string(), line())),
                Event::Start(Tag::Link { dest_url, .. }) => {
                    page.links.push((dest_url.into_string(), line()))
                }
                _ => {}
            }
        }
        page
    }

    /// The place at `line` of this file.
    pub fn at(&self, line: usize, text: impl Into<String>) -> Site {
        Site::new(&self.path, line, text)
    }
}
