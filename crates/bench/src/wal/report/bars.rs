//! A bar chart with error bars as SVG. It brings its own background, so it reads on any page.

use crate::report::svg::escape;

/// A bar chart of values around zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// What the bars are, with their unit.
    pub title: String,
    /// In their order.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Below the axis.
    pub label: String,
    /// Its end.
    pub value: f64,
    /// Half the length of its error bar.
    pub error: f64,
}

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 96.0;
const LOWER: &str = "#0072b2";
const HIGHER: &str = "#d55e00";
/// Bars whose error bar crosses zero say nothing.
const UNCLEAR: &str = "#a0a0a0";
/// Steps of the axis on each side, at most.
const STEPS: f64 = 5.0;

impl Bars {
    /// The chart.
    pub fn render(&self) -> String {
        let step = self.step();
        let (low, high) = self.range(step);
        let y = |value: f64| TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"DejaVu Sans, sans-serif\" \
             font-size=\"11\" fill=\"#222\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
            escape(&self.title)
        );
        let mut tick = (low / step).round();
        while tick * step <= high + step / 2.0 {
            let (value, at) = (tick * step, y(tick * step));
            let colour = if tick == 0.0 { "#222" } else { "#ddd" };
            svg += &line(LEFT, at, WIDTH - RIGHT, at, colour);
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 6.0,
                at + 4.0,
                axis_label(value, step)
            );
            tick += 1.0;
        }
        let slot = (WIDTH - LEFT - RIGHT) / self.bars.len().max(1) as f64;
        for (index, bar) in self.bars.iter().enumerate() {
            let middle = LEFT + slot * (index as f64 + 0.5);
            svg += &bar.render(middle, slot * 0.7, &y);
        }
        svg + "</svg>\n"
    }

    /// The distance of two ticks: 1, 2 or 5 times a power of ten.
    fn step(&self) -> f64 {
        let reach = self
            .bars
            .iter()
            .map(|bar| bar.value.abs() + bar.error)
            .filter(|reach| reach.is_finite())
            .fold(0.0, f64::max);
        let wanted = if reach > 0.0 { reach / STEPS } else { 0.2 };
        let power = 10f64.powf(wanted.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|factor| factor * power >= wanted)
            .unwrap_or(10.0);
        factor * power
    }

    /// From the tick below all bars to the tick above them; zero is inside.
    fn range(&self, step: f64) -> (f64, f64) {
        let end = |of: fn(&Bar) -> f64, pick: fn(f64, f64) -> f64| {
            let ends = self.bars.iter().map(of).filter(|end| end.is_finite());
            ends.fold(0.0, pick)
        };
        let low = (end(|bar| bar.value - bar.error, f64::min) / step).floor() * step;
        let high = (end(|bar| bar.value + bar.error, f64::max) / step).ceil() * step;
        if low < high {
            (low, high)
        } else {
            (-step, step)
        }
    }
}

impl Bar {
    fn render(&self, middle: f64, width: f64, y: &dyn Fn(f64) -> f64) -> String {
        let colour = if self.value.abs() <= self.error {
            UNCLEAR
        } else if self.value < 0.0 {
            LOWER
        } else {
            HIGHER
        };
        let (top, foot) = (y(self.value.max(0.0)), y(self.value.min(0.0)));
        let (x, height) = (middle - width / 2.0, foot - top);
        let mut svg = format!(
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\"><title>{}: {:.3} ± {:.3}</title></rect>\n",
            escape(&self.label),
            self.value,
            self.error
        );
        let (upper, lower) = (y(self.value + self.error), y(self.value - self.error));
        svg += &line(middle, upper, middle, lower, "#222");
        for at in [upper, lower] {
            svg += &line(middle - width / 4.0, at, middle + width / 4.0, at, "#222");
        }
        let at = HEIGHT - BOTTOM + 10.0;
        svg + &format!(
            "<text x=\"{:.1}\" y=\"{at:.1}\" text-anchor=\"end\" \
             transform=\"rotate(-60 {:.1} {at:.1})\">{}</text>\n",
            middle + 4.0,
            middle + 4.0,
            escape(&self.label)
        )
    }
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    )
}

/// With as many digits as the steps need.
fn axis_label(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let label = format!("{value:.digits$}");
    if label
        .trim_start_matches('-')
        .trim_matches(['0', '.'])
        .is_empty()
    {
        "0".into()
    } else {
        label
    }
}

#[cfg(test)]
#[path = "bars_tests.rs"]
mod tests;
