//! The plane that charts are drawn on: background, title, grid, labels.

use crate::escape;

pub const WIDTH: f64 = 960.0;
pub const HEIGHT: f64 = 400.0;
pub const LEFT: f64 = 64.0;
pub const RIGHT: f64 = 16.0;
pub const TOP: f64 = 44.0;
pub const BOTTOM: f64 = 44.0;
/// Colours of what is told apart, distinct for the colour-blind too.
pub const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c",
];
/// Steps of an axis, at most.
const STEPS: f64 = 8.0;

/// An axis from zero.
pub struct Axis {
    /// Its end: a multiple of the step.
    pub end: f64,
    /// The distance of two ticks.
    pub step: f64,
}

impl Axis {
    /// One for values up to `top`, which it ends at or above.
    pub fn above(values: impl Iterator<Item = f64>) -> Axis {
        let top = top(values);
        let step = step(top);
        Axis {
            end: (top / step).ceil().max(1.0) * step,
            step,
        }
    }

    /// One that ends with the greatest of the values.
    pub fn until(values: impl Iterator<Item = f64>) -> Axis {
        let top = top(values);
        let step = step(top);
        Axis {
            end: top.max(step),
            step,
        }
    }

    /// Where a value stands, from the left.
    pub fn x(&self, value: f64) -> f64 {
        LEFT + value / self.end * (WIDTH - LEFT - RIGHT)
    }

    /// Where a value stands, from the top.
    pub fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.end * (HEIGHT - TOP - BOTTOM)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (step, count) = (self.step, (self.end / self.step + 1e-6).floor() as u32);
        (0..=count).map(move |tick| f64::from(tick) * step)
    }
}

/// The beginning of a chart, up to its vertical axis.
pub fn head(title: &str, vertical: &Axis) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"DejaVu Sans, sans-serif\" \
         font-size=\"11\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
        escape(title)
    );
    for tick in vertical.ticks() {
        let at = vertical.y(tick);
        let colour = if tick == 0.0 { "#222" } else { "#ddd" };
        svg += &line(LEFT, at, WIDTH - RIGHT, at, colour);
        svg += &text(LEFT - 6.0, at + 4.0, "end", &label(tick, vertical.step));
    }
    svg
}

/// Seconds below the chart.
pub fn seconds(horizontal: &Axis) -> String {
    let tick = |tick| {
        let label = format!("{} s", label(tick, horizontal.step));
        text(horizontal.x(tick), HEIGHT - BOTTOM + 18.0, "middle", &label)
    };
    horizontal.ticks().map(tick).collect()
}

/// Names with their colours, in a row below the title.
pub fn legend<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SQUARE: f64 = 10.0;
    let (mut svg, mut at) = (String::new(), LEFT);
    for (name, colour) in names.zip(COLOURS.iter().cycle()) {
        svg += &format!(
            "<rect x=\"{at:.1}\" y=\"26\" width=\"{SQUARE}\" height=\"{SQUARE}\" \
             fill=\"{colour}\"/>\n"
        );
        svg += &text(at + SQUARE + 4.0, 35.0, "start", name);
        at += SQUARE + 20.0 + 7.0 * name.chars().count() as f64;
    }
    svg
}

/// A line through points, those left out that are no numbers.
pub fn polyline(points: &[(f64, f64)], horizontal: &Axis, vertical: &Axis, colour: &str) -> String {
    let points: Vec<String> = points
        .iter()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .map(|(x, y)| format!("{:.1},{:.1}", horizontal.x(*x), vertical.y(*y)))
        .collect();
    format!(
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
        points.join(" ")
    )
}

fn top(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The distance of two ticks up to `top`: 1, 2 or 5 times a power of ten.
fn step(top: f64) -> f64 {
    let least = (top / STEPS).max(1e-3);
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= least);
    factor.unwrap_or(10.0) * power
}

/// A number with as many decimals as the step needs.
pub fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// A straight line.
pub fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    )
}

/// Words at a place.
pub fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = escape(text);
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}
