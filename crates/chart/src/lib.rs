//! Charts as SVG of our own making.
//!
//! | file | what it holds |
//! |---|---|
//! | `axis` | the plane that they are drawn on |
//! | `series` | values over time as a line |
//! | `lines` | several things over time |
//! | `groups` | bars of the same things under several conditions |
#![deny(unsafe_code)]

mod axis;
mod groups;
mod lines;
mod series;

pub use groups::{Bar, Groups};
pub use lines::Lines;
pub use series::Series;

/// Whether another program can read it.
#[cfg(test)]
fn is_svg(text: &str) -> bool {
    let options = resvg::usvg::Options::default();
    resvg::usvg::Tree::from_str(text, &options).is_ok()
}

/// Text as XML wants it between tags.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
