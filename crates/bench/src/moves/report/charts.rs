//! What clients felt over time, and how fast data moved.

use std::collections::BTreeMap;

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
    let title = format!("Clients' p99 of each second, ms: {}", case.condition.name());
    let points: Vec<(f64, f64)> = run
        .seconds
        .iter()
        .map(|second| {
            let ms = second.felt.latency_us_p99 as f64 / 1e3;
            (second.at_s as f64 + 0.5, ms)
        })
        .collect();
    let top = top(&points);
    let bound_ms = report.bound_us_p99 as f64 / 1e3;
    let mut lines = vec![
        ("p99".to_owned(), points),
        ("bound".to_owned(), level(run, bound_ms)),
    ];
    lines.extend(run.moves.iter().map(|moved| frame(moved, top)));
    Chart::of("move", title, lines)
}

fn rate(case: &Case, run: &Run) -> Chart {
    let title = format!(
        "Copied, MB/s, and what each shard allows itself: {}",
        case.condition.name()
    );
    let mut copied = vec![(0.0, 0.0)];
    copied.extend(run.moves.iter().flat_map(rates));
    copied.extend(level(run, 0.0).last());
    let top = top(&copied);
    let mut lines = vec![("copied".to_owned(), copied)];
    lines.extend(allowed(run, 1.5 * top));
    lines.extend(run.moves.iter().map(|moved| frame(moved, top)));
    Chart::of("move-rate", title, lines)
}

/// What each shard allows itself while records are copied, at most `most` MB/s: without a limit
/// that is more than can be drawn.
fn allowed(run: &Run, most: f64) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for moved in &run.moves {
        let copying = moved.looks.iter().filter(|look| look.phase == "copy");
        let mut last: BTreeMap<&str, f64> = BTreeMap::new();
        for look in copying {
            for (shard, rate) in &look.bytes_per_s_max {
                let line = lines.entry(shard).or_default();
                if !last.contains_key(shard.as_str()) {
                    line.push((look.at_s, 0.0));
                }
                line.push((look.at_s, (*rate as f64 / 1e6).min(most)));
                last.insert(shard, look.at_s);
            }
        }
        for (shard, at_s) in last {
            lines.entry(shard).or_default().push((at_s, 0.0));
        }
    }
    let named = |(shard, line)| (format!("allowed {shard}"), line);
    lines.into_iter().map(named).collect()
}

fn top(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|point| point.1).fold(0.0, f64::max)
}

/// A level over the whole run.
fn level(run: &Run, value: f64) -> Vec<(f64, f64)> {
    let end_s = run.parts.last().map_or(0.0, |part| part.end_s);
    vec![(0.0, value), (end_s, value)]
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
