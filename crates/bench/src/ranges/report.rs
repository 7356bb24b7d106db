//! The tables, as files.

use std::path::Path;

use super::RangesReport;
use super::run::{Copied, Latency, Round};
use crate::error::BenchError;
use crate::report::summary::number;
use crate::report::table::Table;
use crate::report::write_files;
use crate::spread::Spread;

const METHOD: &str = "\
- Three nodes (`dunlin serve`, one shard each, `--sync always`), an etcd and the load generator share the machine. One \
range, filled with large values and 20,000 small ones; each round has a cluster of its own. Medians of the rounds, in \
parentheses the least and the greatest.
- A copy: a node is killed, its directory removed, and it is started again. The rate is that of the copy, from its \
first to its last row; *whole* is the time from the start of the node until all replicas had all entries.
- Clients beside the copy: at a constant rate to the two other nodes, a quarter puts, the others gets, 16 connections of \
each; latencies from the moment at which a request was to start.
- Changes of leader: eight clients at all nodes put one key after another, each change is by `PUT ../target`, 1.5 s \
apart. The wait is the longest of any request that was to start within a second of the change. A wrong status or value \
ends the run: no request was refused, and none was without an answer.
- CPU is user and system time of all nodes.
";

/// Writes `ranges.md` and `ranges.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &RangesReport, directory: &Path) -> Result<Vec<String>, BenchError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let files: Vec<(String, Vec<u8>)> = vec![
        ("ranges.json".into(), json.into()),
        ("ranges.md".into(), render(report).into()),
    ];
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// A round in a line.
pub fn line(round: &Round) -> String {
    let copied = |copied: &Copied| {
        format!(
            "{:.0} MB/s, whole after {:.1} s",
            copied.bytes_per_s as f64 / 1e6,
            copied.whole_s
        )
    };
    let longest = round.transfers_us.iter().max().copied().unwrap_or(0);
    format!(
        "at rest {}; beside clients {}, p99 {:.1} ms; longest wait at a change of leader {:.0} ms",
        copied(&round.idle),
        copied(&round.loaded),
        round.during.p99 as f64 / 1e3,
        longest as f64 / 1e3
    )
}

fn render(report: &RangesReport) -> String {
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    let amounts = &report.amounts;
    format!(
        "# Copies of ranges, and changes of their leaders\n{quick}\n\
         - Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n- Programs: {}; revision {}\n\
         - {} values of {} KiB; {:.0} requests/s beside the second copy, values of {} bytes; {} rounds\n\n\
         {}\n## How it was measured\n\n{METHOD}",
        report.date_utc,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.dunlin,
        report.revision.as_deref().unwrap_or("unknown"),
        amounts.values,
        amounts.value_bytes >> 10,
        amounts.rate_per_s,
        amounts.small_bytes,
        amounts.repeats,
        table(report)
    )
}

type OfCopy = fn(&Copied) -> f64;
type OfLatency = fn(&Latency) -> u64;

/// A row for each figure.
pub fn table(report: &RangesReport) -> String {
    let mut table = Table::new(&["", "at rest", "beside clients", "aim"]);
    let of = |figure: &dyn Fn(&Round) -> f64| number(Spread::of(report.rounds.iter().map(figure)));
    let copies: [(&str, OfCopy, &str); 3] = [
        (
            "a copy, MB/s",
            |copied| copied.bytes_per_s as f64 / 1e6,
            "100",
        ),
        ("whole after s", |copied| copied.whole_s, "60"),
        ("CPU s of all nodes", |copied| copied.cpu_s, ""),
    ];
    for (name, figure, aim) in copies {
        table.row(vec![
            name.to_owned(),
            of(&|round| figure(&round.idle)),
            of(&|round| figure(&round.loaded)),
            aim.to_owned(),
        ]);
    }
    let mut row = |name: &str, idle: String, loaded: String| {
        table.row(vec![name.to_owned(), idle, loaded, String::new()]);
    };
    let clients: [(&str, OfLatency); 3] = [
        ("clients, p50 ms: before the copy; during it", |felt| {
            felt.p50
        }),
        ("clients, p99 ms", |felt| felt.p99),
        ("clients, longest ms", |felt| felt.max),
    ];
    for (name, figure) in clients {
        row(
            name,
            of(&|round| figure(&round.before) as f64 / 1e3),
            of(&|round| figure(&round.during) as f64 / 1e3),
        );
    }
    let waits = report.rounds.iter().flat_map(|round| &round.transfers_us);
    let waits = Spread::of(waits.map(|us| *us as f64 / 1e3));
    row(
        "longest wait at a change of leader, ms",
        String::new(),
        number(waits),
    );
    table.render()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
