//! What clients felt over time, and how fast data moved.

use dunlin_chart::Lines;

use super::model::Report;
use crate::moves::case::Case;
use crate::moves::change::Moved;
use crate::moves::run::Run;

/// Rates are over at least this long: what is copied comes in chunks.
const RATE_OVER_S: f64 = 1.0;

/// A chart and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// The name of its files, without extension.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// Itself.
    pub svg: String,
}

/// Both charts, of one run of the first condition with clients.
pub fn of(report: &Report) -> Vec<Chart> {
    let mut cases = report.cases.iter();
    let case = cases.find(|case| case.condition.has_clients());
    let Some((case, run)) = case.and_then(|case| Some((case, case.typical()?))) else {
        return Vec::new();
    };
    vec![latency(report, case, run), rate(case, run)]
}

fn latency(report: &Report, case: &Case, run: &Run) -> Chart {
    let title = format!(
        "Clients' p99 of each second, ms: {} (bound {:.0} ms)",
        case.condition.name(),
        report.bound_us_p99 as f64 / 1e3
    );
    let points: Vec<(f64, f64)> = run
        .seconds
        .iter()
        .map(|second| {
            let ms = second.felt.latency_us_p99 as f64 / 1e3;
            (second.at_s as f64 + 0.5, ms)
        })
        .collect();
    let top = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut lines = vec![("p99".to_owned(), points)];
    lines.extend(run.moves.iter().map(|moved| frame(moved, top)));
    Chart::of("move", title, lines)
}

fn rate(case: &Case, run: &Run) -> Chart {
    let title = format!("Copied, MB/s: {}", case.condition.name());
    let curve =
        |rates: &dyn Fn(&Moved) -> Vec<(f64, f64)>| run.moves.iter().flat_map(rates).collect();
    let copied: Vec<(f64, f64)> = curve(&rates);
    let allowed: Vec<(f64, f64)> = curve(&|moved| {
        let looks = moved.looks.iter().filter(|look| look.phase == "copy");
        looks
            .map(|look| (look.at_s, look.bytes_per_s_max as f64 / 1e6))
            .collect()
    });
    let top = copied.iter().map(|point| point.1).fold(0.0, f64::max);
    // Without clients to heed the rate allowed has no limit, which would flatten all else.
    let allowed = allowed
        .into_iter()
        .map(|(at_s, rate)| (at_s, rate.min(2.0 * top)));
    let mut lines = vec![
        ("copied".to_owned(), copied),
        (
            "allowed (cut at twice the most)".to_owned(),
            allowed.collect(),
        ),
    ];
    lines.extend(run.moves.iter().map(|moved| frame(moved, top)));
    Chart::of("move-rate", title, lines)
}

impl Chart {
    fn of(name: &'static str, title: String, lines: Vec<(String, Vec<(f64, f64)>)>) -> Chart {
        let svg = Lines {
            title: title.clone(),
            lines,
        };
        Chart {
            name,
            title,
            svg: svg.render(),
        }
    }
}

/// MB/s copied, with zeros at both ends.
fn rates(moved: &Moved) -> Vec<(f64, f64)> {
    let end_s = moved.begin_s + moved.duration_s;
    let (mut from_s, mut from) = (moved.begin_s, 0);
    let mut points = vec![(from_s, 0.0)];
    for look in &moved.looks {
        if look.at_s - from_s >= RATE_OVER_S {
            let mb = (look.bytes - from) as f64 / 1e6;
            points.push((look.at_s, mb / (look.at_s - from_s)));
            (from_s, from) = (look.at_s, look.bytes);
        }
    }
    if let Some(last) = moved.looks.last()
        && last.bytes > from
    {
        let mb = (last.bytes - from) as f64 / 1e6;
        points.push((last.at_s, mb / (last.at_s - from_s).max(0.1)));
    }
    points.push((end_s, 0.0));
    points
}

/// A frame around the time of a step.
fn frame(moved: &Moved, top: f64) -> (String, Vec<(f64, f64)>) {
    let (begin, end) = (moved.begin_s, moved.begin_s + moved.duration_s);
    let corners = vec![(begin, 0.0), (begin, top), (end, top), (end, 0.0)];
    (moved.step.clone(), corners)
}

#[cfg(test)]
#[path = "charts_tests.rs"]
mod tests;
