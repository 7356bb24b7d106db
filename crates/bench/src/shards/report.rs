//! What is written down of it.

use std::path::Path;

use super::{Cell, Report};
use crate::error::BenchError;
use crate::measure::Run;
use crate::report::summary::number;
use crate::report::table::Table;
use crate::report::write_files;
use crate::spread::Spread;

const METHOD: &str = "\
- One node (`dunlin serve --metadata embedded`), each key on one of its shards. As many requests as \
there are connections, each sent when the one before is answered. The load generator shares the \
machine with the node, so no number of shards has all processors to itself.
- In every round a new node of each number of shards, in turns; medians of the rounds, in parentheses \
the least and the greatest. A wrong status or value ends the run.
- Ratio: requests a second over those of the first number of shards in the same round.
- CPU is user and system time of the node, with what it still spent after the window until idle.
";

/// Writes `shards.md` and `shards.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let files: Vec<(String, Vec<u8>)> = vec![
        ("shards.json".into(), json.into()),
        ("shards.md".into(), render(report).into()),
    ];
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn render(report: &Report) -> String {
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    let runs = report.cells.iter().flat_map(|cell| &cell.runs);
    let other = Spread::of(runs.map(|run| run.machine_other * 100.0));
    format!(
        "# One node with one shard and with several\n{quick}\n\
         - Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n\
         - Programs: {}; revision {}\n- Values of {} bytes; reads of {} records\n\
         - CPU time that neither node nor clients used: {:.1} % (median), {:.1} % at most\n\n\
         ## Closed loop\n\n{}\n## How it was measured\n\n{METHOD}",
        report.date_utc,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.dunlin,
        report.revision.as_deref().unwrap_or("unknown"),
        report.value_bytes,
        report.filled,
        other.median,
        other.max,
        table(report)
    )
}

/// A row for each case.
pub fn table(report: &Report) -> String {
    let head = [
        "sync, request, connections",
        "shards",
        "requests/s",
        "ratio",
        "p50 us",
        "p99 us",
        "CPU us/request",
    ];
    let mut table = Table::new(&head);
    for cell in &report.cells {
        let case = cell.case;
        let of = |figure: fn(&Run) -> f64| number(Spread::of(cell.runs.iter().map(figure)));
        table.row(vec![
            format!(
                "{}, {}, {}",
                case.sync.name(),
                case.verb.name(),
                case.connections
            ),
            case.shards.to_string(),
            of(|run| run.rate_per_s),
            ratio(first(report, cell), cell).map_or("1".to_owned(), |ratio| {
                let Spread { median, min, max } = ratio;
                format!("{median:.2} ({min:.2} to {max:.2})")
            }),
            of(|run| run.latency_us_p50 as f64),
            of(|run| run.latency_us_p99 as f64),
            of(|run| run.server_cpu_us + run.server_cpu_us_deferred),
        ]);
    }
    table.render()
}

/// The same case with the number of shards that all are compared with.
fn first<'a>(report: &'a Report, cell: &Cell) -> Option<&'a Cell> {
    let same = |other: &&Cell| {
        let shards = cell.case.shards;
        super::Case {
            shards,
            ..other.case
        } == cell.case
    };
    report.cells.iter().find(same)
}

/// Round by round; none for what is compared with itself.
fn ratio(first: Option<&Cell>, cell: &Cell) -> Option<Spread> {
    let first = first.filter(|first| first.case != cell.case)?;
    let rounds = cell.runs.iter().zip(&first.runs);
    Some(Spread::of(rounds.map(|(run, first)| {
        run.rate_per_s / first.rate_per_s.max(1e-9)
    })))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
