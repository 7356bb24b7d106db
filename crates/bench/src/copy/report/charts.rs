//! Rates by way and value, and over time.

use dunlin_chart::{Bar, Groups, Lines};

use super::model::Report;
use crate::copy::case::Case;
use crate::copy::plan::VARIED_VALUE_BYTES;
use crate::copy::way::{Bound, Way};
use crate::spread::Spread;

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

/// Both charts.
pub fn of(report: &Report) -> Vec<Chart> {
    let mut cases = report.cases.iter();
    let varied = cases.find(|case| case.holds.value_bytes == VARIED_VALUE_BYTES);
    let over_time = report.long.as_ref().or(varied).or(report.cases.first());
    [Some(rates(report)), over_time.map(rate_over_time)]
        .into_iter()
        .flatten()
        .collect()
}

fn rates(report: &Report) -> Chart {
    let title = "Copying, MB/s of keys and values: medians, least to greatest".to_owned();
    let group = |case: &Case| {
        let bar = |spread: Spread| Bar {
            value: spread.median / 1e6,
            min: spread.min / 1e6,
            max: spread.max / 1e6,
        };
        let copied = Way::ALL.map(|way| case.way(way).map(|taken| bar(taken.bytes_per_s)));
        let disk = case
            .bounds
            .iter()
            .find(|bounded| bounded.bound == Bound::Disk)
            .map(|bounded| bar(bounded.bytes_per_s));
        let bars = copied.into_iter().chain([disk]).collect();
        (format!("values of {} B", case.holds.value_bytes), bars)
    };
    let names = Way::ALL.iter().map(|way| way.name());
    let groups = Groups {
        title: title.clone(),
        names: names
            .chain([Bound::Disk.name()])
            .map(str::to_owned)
            .collect(),
        groups: report.cases.iter().map(group).collect(),
    };
    Chart {
        name: "copy",
        title,
        svg: groups.render(),
    }
}

fn rate_over_time(case: &Case) -> Chart {
    let title = format!(
        "Copying {:.1} GB, values of {} B, over time: MB/s of keys and values, one run each",
        case.holds.bytes as f64 / 1e9,
        case.holds.value_bytes
    );
    let line = |way: &Way| {
        let rates = case.way(*way)?.typical()?.rates.as_ref()?;
        Some((way.name().to_owned(), rates.curve()))
    };
    let lines = Lines {
        title: title.clone(),
        lines: Way::ALL.iter().filter_map(line).collect(),
    };
    Chart {
        name: "copy-time",
        title,
        svg: lines.render(),
    }
}
