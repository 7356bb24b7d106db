//! Values over time as a line.

use crate::axis::{Axis, COLOURS, LEFT, RIGHT, WIDTH, head, label, line, polyline, seconds, text};

const LINE: &str = COLOURS[0];
const MEAN: &str = COLOURS[1];

/// A chart of values over time, and their mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it shows, with the values' unit.
    pub title: String,
    /// (seconds, value), in order.
    pub points: Vec<(f64, f64)>,
    /// A horizontal line.
    pub mean: f64,
}

impl Series {
    /// The chart as SVG. It brings its own background, so it reads on any page.
    pub fn render(&self) -> String {
        let values = self.points.iter().map(|point| point.1);
        let vertical = Axis::above(values.chain([self.mean]));
        let horizontal = Axis::until(self.points.iter().map(|point| point.0));
        let mut svg = head(&self.title, &vertical) + &seconds(&horizontal);
        svg += &polyline(&self.points, &horizontal, &vertical, LINE);
        if self.mean.is_finite() {
            let at = vertical.y(self.mean);
            svg += &line(LEFT, at, WIDTH - RIGHT, at, MEAN);
            let mean = format!("mean {}", label(self.mean, vertical.step / 10.0));
            svg += &text(WIDTH - RIGHT, 34.0, "end", &mean);
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
