//! Charts as SVG of our own making, and SVG as PNG.
//!
//! | file | what it holds |
//! |---|---|
//! | `series` | values over time as a line |
//! | `png` | an SVG as PNG |
#![deny(unsafe_code)]

pub mod png;
mod series;

pub use series::Series;

/// Text as XML wants it between tags.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
