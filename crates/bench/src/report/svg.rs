//! Latency by percentile as SVG: both axes logarithmic, the right end magnified as in the
//! usual plots of HDR histograms.

pub use dunlin_chart::escape;

/// One line of the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// (percentile 0 to 100, latency in us).
    pub points: Vec<(f64, u64)>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 130.0;
/// Nines on the horizontal axis.
const DECADES: f64 = 4.0;
const LATENCY_US_MIN: f64 = 10.0;
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];
const PERCENTILES: [f64; 9] = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.97, 99.99];

/// The plot of some curves.
pub fn render(curves: &[Curve]) -> String {
    let top_us = top_us(curves);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\">Latency by percentile, from the intended start</text>\n"
    );
    for percentile in PERCENTILES {
        let at = x(percentile);
        svg += &line(at, TOP, at, HEIGHT - BOTTOM, "#ddd");
        let y = HEIGHT - BOTTOM + 18.0;
        svg +=
            &format!("<text x=\"{at:.1}\" y=\"{y}\" text-anchor=\"middle\">{percentile}%</text>\n");
    }
    let mut us = LATENCY_US_MIN;
    while us <= top_us {
        let at = y(us, top_us);
        svg += &line(LEFT, at, WIDTH - RIGHT, at, "#ddd");
        let (label, edge) = (label(us), LEFT - 6.0);
        svg += &format!(
            "<text x=\"{edge}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
            at + 4.0
        );
        us *= 10.0;
    }
    let good = y(2_000.0, top_us);
    svg += &line(LEFT, good, WIDTH - RIGHT, good, "#c00");
    svg += &format!(
        "<text x=\"{}\" y=\"{:.1}\" fill=\"#c00\">2 ms</text>\n",
        LEFT + 4.0,
        good - 4.0
    );
    for (index, (curve, colour)) in curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let points: Vec<String> = curve
            .points
            .iter()
            .filter(|(percentile, _)| *percentile <= 99.99)
            .map(|&(percentile, us)| format!("{:.1},{:.1}", x(percentile), y(us as f64, top_us)))
            .collect();
        svg += &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\n",
            points.join(" ")
        );
        let at = HEIGHT - BOTTOM + 42.0 + 18.0 * index as f64;
        svg += &format!(
            "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"18\" height=\"4\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{at:.1}\">{}</text>\n",
            at - 6.0,
            LEFT + 26.0,
            escape(&curve.name)
        );
    }
    svg + "</svg>\n"
}

/// The power of ten above every plotted latency.
fn top_us(curves: &[Curve]) -> f64 {
    let greatest = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|(percentile, _)| *percentile <= 99.99)
        .map(|&(_, us)| us as f64)
        .fold(10_000.0, f64::max);
    10f64.powf(greatest.log10().ceil())
}

fn x(percentile: f64) -> f64 {
    let nines = -(1.0 - percentile / 100.0).max(1e-12).log10();
    LEFT + (WIDTH - LEFT - RIGHT) * (nines / DECADES).clamp(0.0, 1.0)
}

fn y(us: f64, top_us: f64) -> f64 {
    let part =
        (us.max(LATENCY_US_MIN) / LATENCY_US_MIN).log10() / (top_us / LATENCY_US_MIN).log10();
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part.clamp(0.0, 1.0)
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    )
}

fn label(us: f64) -> String {
    if us < 1e3 {
        format!("{us:.0} us")
    } else if us < 1e6 {
        format!("{:.0} ms", us / 1e3)
    } else {
        format!("{:.0} s", us / 1e6)
    }
}

#[cfg(test)]
#[path = "svg_tests.rs"]
mod tests;
