//! Several things over time, a line each.

use crate::axis::{Axis, COLOURS, head, legend, polyline, seconds};

/// A chart of lines that begin together.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What it shows, with the values' unit.
    pub title: String,
    /// What each line is, and its (seconds, value), in order.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Lines {
    /// The chart as SVG. It brings its own background, so it reads on any page.
    pub fn render(&self) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let vertical = Axis::above(points().map(|point| point.1));
        let horizontal = Axis::until(points().map(|point| point.0));
        let mut svg = head(&self.title, &vertical) + &seconds(&horizontal);
        svg += &legend(self.lines.iter().map(|(name, _)| name.as_str()));
        for ((_, points), colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            svg += &polyline(points, &horizontal, &vertical, colour);
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
