//! Charts as SVG of our own making, and SVG as PNG.
//!
//! | file | what it holds |
//! |---|---|
//! | `axis` | the plane that they are drawn on |
//! | `series` | values over time as a line |
//! | `lines` | several things over time |
//! | `groups` | bars of the same things under several conditions |
//! | `png` | an SVG as PNG |
#![deny(unsafe_code)]

mod axis;
mod groups;
mod lines;
pub mod png;
mod series;

pub use groups::{Bar, Groups};
pub use lines::Lines;
pub use series::Series;

/// Text as XML wants it between tags.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
