//! Groups of bars: the same few things under several conditions.

use crate::axis::{Axis, BOTTOM, COLOURS, HEIGHT, LEFT, RIGHT, WIDTH, head, legend, line, text};
use crate::escape;

/// A chart of groups of bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// What it shows, with the values' unit.
    pub title: String,
    /// What the bars of each group are, in their order.
    pub names: Vec<String>,
    /// What each group is, and its bars; `None` leaves a bar's place empty.
    pub groups: Vec<(String, Vec<Option<Bar>>)>,
}

/// A bar and how far the values it stands for are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Its end.
    pub value: f64,
    /// The least of what it stands for.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// Of a group's place, what its bars fill.
const FILLED: f64 = 0.86;

impl Groups {
    /// The chart as SVG. It brings its own background, so it reads on any page.
    pub fn render(&self) -> String {
        let bars = self.groups.iter().flat_map(|(_, bars)| bars).flatten();
        let vertical = Axis::above(bars.flat_map(|bar| [bar.value, bar.max]));
        let mut svg = head(&self.title, &vertical);
        svg += &legend(self.names.iter().map(String::as_str));
        let place = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let width = place * FILLED / self.names.len().max(1) as f64;
        for (at, (name, bars)) in self.groups.iter().enumerate() {
            let begin = LEFT + place * (at as f64 + (1.0 - FILLED) / 2.0);
            let kinds = self.names.iter().zip(COLOURS.iter().cycle());
            for (bar_at, (bar, (kind, colour))) in bars.iter().zip(kinds).enumerate() {
                if let Some(bar) = bar {
                    let title = format!("{name}, {kind}");
                    svg += &bar.render(
                        begin + width * bar_at as f64,
                        width,
                        &vertical,
                        (colour, &title),
                    );
                }
            }
            let middle = LEFT + place * (at as f64 + 0.5);
            svg += &text(middle, HEIGHT - BOTTOM + 18.0, "middle", name);
        }
        svg + "</svg>\n"
    }
}

impl Bar {
    fn render(&self, x: f64, width: f64, vertical: &Axis, (colour, title): (&str, &str)) -> String {
        let (top, foot) = (vertical.y(self.value), vertical.y(0.0));
        let mut svg = format!(
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"{colour}\"><title>{}: {:.1} ({:.1} to {:.1})</title></rect>\n",
            width * 0.9,
            foot - top,
            escape(title),
            self.value,
            self.min,
            self.max
        );
        let middle = x + width * 0.45;
        svg += &line(
            middle,
            vertical.y(self.min),
            middle,
            vertical.y(self.max),
            "#222",
        );
        svg + &text(
            middle,
            top.min(vertical.y(self.max)) - 3.0,
            "middle",
            &format!("{:.0}", self.value),
        )
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
