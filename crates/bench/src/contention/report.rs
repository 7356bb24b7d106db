//! The report.

use std::path::Path;

use super::case::{Crowd, Task};
use super::run::Figures;
use super::{Contention, Repeats};
use crate::error::BenchError;
use crate::report::summary::number;
use crate::report::table::Table;
use crate::report::write_both;

const METHOD: &str = "\
- Three nodes (`dunlin serve`, one shard each, `--sync always`), an etcd, a PostgreSQL with its defaults and without \
replicas, and all clients share the machine. One keyspace with two ranges; every client uses one key. Clients have a thread and a connection each, to the nodes in turn.
- In each round every case has its turn. Medians of the rounds, in parentheses the least and the greatest.
- A transaction is tried until it has happened. *Refused* are answers 409 and 412 for each of these; attempts that \
the server makes by itself are not among them. *Least* is the client with the fewest, as a part of the mean of all. \
Times are from the first attempt to the end; the longest includes those without an end.
- Counters are read at the end: every acknowledged increment is in them, or the run ends with an error.
- PostgreSQL adds to one row by a prepared statement that is a transaction of its own: read committed, a lock of the row, \
the commit synced.
- CPU is user and system time of the servers for each transaction: three nodes, or PostgreSQL with its processes of connections.
";

/// Writes `txn.md` and `txn.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Contention, directory: &Path) -> Result<Vec<String>, BenchError> {
    write_both("txn", (report, render(report)), directory)
}

/// A run in a line.
pub fn line(case: Crowd, figures: &Figures) -> String {
    format!(
        "{}, {} clients: {:.0}/s, {:.2} refused, least {:.2} of the mean, p50 {:.1} ms, p99 {:.1} ms, longest {:.0} ms",
        case.task.name(),
        case.clients,
        figures.per_s,
        figures.refused,
        figures.least,
        figures.p50_ms,
        figures.p99_ms,
        figures.longest_ms
    )
}

fn render(report: &Contention) -> String {
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    format!(
        "# Transactions on one key\n{quick}\n\
         - Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n- Programs: {}; revision {}\n\
         - {} s a case and round\n\n{}\n## How it was measured\n\n{METHOD}",
        report.date_utc,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.dunlin,
        report.revision.as_deref().unwrap_or("unknown"),
        report.case_s,
        table(report)
    )
}

/// A row for each case.
pub fn table(report: &Contention) -> String {
    let mut table = Table::new(&[
        "",
        "clients",
        "/s",
        "of puts",
        "refused",
        "least",
        "p50 ms",
        "p99 ms",
        "longest ms",
        "CPU us",
    ]);
    let is_put = |row: &&Repeats| row.case.task == Task::Put;
    let puts =
        (report.rows.iter().find(is_put)).map_or(0.0, |row| row.spread(|of| of.per_s).median);
    for row in &report.rows {
        let of = |figure: fn(&Figures) -> f64| number(row.spread(figure));
        table.row(vec![
            row.case.task.name().to_owned(),
            row.case.clients.to_string(),
            of(|of| of.per_s),
            format!("{:.3}", row.spread(|of| of.per_s).median / puts.max(1.0)),
            of(|of| of.refused),
            of(|of| of.least),
            of(|of| of.p50_ms),
            of(|of| of.p99_ms),
            of(|of| of.longest_ms),
            of(|of| of.cpu_us),
        ]);
    }
    table.render()
}
