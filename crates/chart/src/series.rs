//! Values over time as a line.

use crate::escape;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
const LINE: &str = "#0072b2";
const MEAN: &str = "#d55e00";
/// Steps of an axis, at most.
const STEPS: f64 = 8.0;

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
        let finite = |value: &f64| value.is_finite();
        let values = self.points.iter().map(|point| point.1).chain([self.mean]);
        let top = values.filter(finite).fold(0.0, f64::max);
        let end = self
            .points
            .iter()
            .map(|point| point.0)
            .filter(finite)
            .fold(0.0, f64::max);
        let (step_y, step_x) = (step(top), step(end));
        let high = (top / step_y).ceil().max(1.0) * step_y;
        let end = end.max(step_x);
        let x = |seconds: f64| LEFT + seconds / end * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - value / high * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"DejaVu Sans, sans-serif\" \
             font-size=\"11\" fill=\"#222\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
            escape(&self.title)
        );
        for tick in ticks(high, step_y) {
            let at = y(tick);
            let colour = if tick == 0.0 { "#222" } else { "#ddd" };
            svg += &line(LEFT, at, WIDTH - RIGHT, at, colour);
            svg += &text(LEFT - 6.0, at + 4.0, "end", &label(tick, step_y));
        }
        for tick in ticks(end, step_x) {
            let label = format!("{} s", label(tick, step_x));
            svg += &text(x(tick), HEIGHT - BOTTOM + 18.0, "middle", &label);
        }
        let points: Vec<String> = self
            .points
            .iter()
            .filter(|(seconds, value)| seconds.is_finite() && value.is_finite())
            .map(|(seconds, value)| format!("{:.1},{:.1}", x(*seconds), y(*value)))
            .collect();
        svg += &format!(
            "<polyline fill=\"none\" stroke=\"{LINE}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
            points.join(" ")
        );
        if self.mean.is_finite() {
            svg += &line(LEFT, y(self.mean), WIDTH - RIGHT, y(self.mean), MEAN);
            let mean = format!("mean {}", label(self.mean, step_y / 10.0));
            svg += &text(WIDTH - RIGHT, 34.0, "end", &mean);
        }
        svg + "</svg>\n"
    }
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

fn ticks(high: f64, step: f64) -> impl Iterator<Item = f64> {
    let count = (high / step + 1e-6).floor() as u32;
    (0..=count).map(move |tick| f64::from(tick) * step)
}

fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    )
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = escape(text);
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
