//! The paper's charts: bars of padded minus unpadded latency, by key + value.

use super::bars::{Bar, Bars};
use super::model::Report;
use crate::interval::Interval;
use crate::wal::cell::Cell;
use crate::wal::grid::{PAPER_BLOCK_BYTES, block_name};

/// File names without extension, and charts: of Dunlin's log, then of the paper's own form, for
/// each of its block sizes that was measured.
pub fn of(report: &Report) -> Vec<(String, Bars)> {
    let mut charts = Vec::new();
    for block_bytes in PAPER_BLOCK_BYTES {
        let cells = report.cells_of(block_bytes);
        let name = format!("wal-{}k", block_bytes >> 10);
        let ours = |cell: &&Cell| Some(bar(cell, cell.difference_us));
        let paper = |cell: &&Cell| Some(bar(cell, cell.paper.as_ref()?.difference_us));
        charts.push((
            name.clone(),
            Bars {
                title: format!(
                    "Dunlin's log, blocks of {}: latency of pad minus fragment, us",
                    block_name(block_bytes)
                ),
                bars: cells.iter().filter_map(ours).collect(),
            },
        ));
        charts.push((
            format!("{name}-patch"),
            Bars {
                title: format!(
                    "The paper's patch, blocks of {}: latency of padded minus stock, us",
                    block_name(block_bytes)
                ),
                bars: cells.iter().filter_map(paper).collect(),
            },
        ));
    }
    charts.retain(|(_, chart)| !chart.bars.is_empty());
    charts
}

fn bar(cell: &Cell, difference_us: Interval) -> Bar {
    Bar {
        label: cell.entry.name(),
        value: difference_us.mean,
        error: difference_us.ci95.unwrap_or(0.0),
    }
}
