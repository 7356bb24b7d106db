//! What is written down of it.

use std::path::Path;

use super::Report;
use crate::error::BenchError;
use crate::report::table::Table;
use crate::report::write_files;

const METHOD: &str = "\
- One node, its etcd and all clients on one machine; every document is on this node alone, so that a document is indexed \
once. Documents are JSON of 200 bytes, in 1,000 groups; the view emits the group and a number, and counts.
- Build: from the request that makes the view until it says that it is whole. CPU is all that the node and the engine of the view used meanwhile.
- Behind: a document of a group of its own is put, and the view is asked for that group every millisecond until it has \
it, from the answer to the put on, 50 times a second at most, while 64 connections write over 20,000 documents at the rate.
- Fresh: an answer with `stale=false` for one group, meanwhile.
- Point: the first row of a group, of 32 connections over HTTP. Groups: the counts of all groups in one answer.
- SQLite: the documents in a table of one process, without a server, an index of `json_extract(body, '$.group')` and \
the id; its index is of one field as it is, in one file, made in one statement. It parses no JavaScript, keeps no counts, \
replicates nothing, and its queries cross no connection; a point query is one statement of one connection.
";

/// Writes `views.md` and `views.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let json = serde_json::to_vec_pretty(report).unwrap_or_default();
    let files = [
        ("views.md".to_owned(), render(report).into_bytes()),
        ("views.json".to_owned(), json),
    ];
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn render(report: &Report) -> String {
    format!(
        "# A view of {} documents\n\n- Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n\
         - Programs: {}; revision {}; shards: {}\n\n{}\n## How it was measured\n\n{METHOD}",
        report.documents,
        report.date_utc,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.dunlin,
        report.revision.as_deref().unwrap_or("unknown"),
        report.shards,
        table(report)
    )
}

/// What was wanted, what was measured, and SQLite beside it.
pub fn table(report: &Report) -> String {
    let mut table = Table::new(&["", "Dunlin", "wanted", "reached", "SQLite"]);
    let beside = |text: fn(&super::Sqlite) -> String| {
        report.sqlite.as_ref().map_or_else(|| "-".to_owned(), text)
    };
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let build = &report.build;
    table.row(vec![
        "built, documents/s".to_owned(),
        format!("{:.0}", build.documents_per_s),
        "-".to_owned(),
        "-".to_owned(),
        beside(|sqlite| format!("{:.0}", sqlite.documents_per_s)),
    ]);
    table.row(vec![
        "built, documents/s of a processor".to_owned(),
        format!("{:.0}", build.documents_per_cpu_s),
        "80,000".to_owned(),
        yes(build.documents_per_cpu_s >= 80_000.0),
        beside(|sqlite| format!("{:.0}", sqlite.documents_per_s)),
    ]);
    let ms = |[p50, p95, p99]: [f64; 3]| format!("{p50:.1}, {p95:.1}, {p99:.1}");
    let lag = &report.lag;
    table.row(vec![
        format!("behind at {:.0} sets/s, ms p50, p95, p99", lag.reached),
        ms(lag.ms),
        format!("p99 50 at {}/s", lag.rate),
        yes(lag.ms[2] < 50.0 && lag.reached >= lag.rate as f64 * 0.98),
        "-".to_owned(),
    ]);
    table.row(vec![
        "fresh answers meanwhile, ms p50, p95, p99".to_owned(),
        ms(lag.fresh_ms),
        "p99 100".to_owned(),
        yes(lag.fresh_ms[2] < 100.0),
        "-".to_owned(),
    ]);
    let point = &report.point;
    table.row(vec![
        format!("point queries/s, {} connections", point.connections),
        format!("{:.0}", point.per_s),
        "20,000".to_owned(),
        yes(point.per_s >= 20_000.0),
        beside(|sqlite| format!("{:.0}", sqlite.point_per_s)),
    ]);
    table.row(vec![
        "one of these, ms p50, p95, p99".to_owned(),
        ms(point.ms),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
    ]);
    let groups = report.groups_ms;
    let spread = |spread: crate::spread::Spread| {
        format!(
            "{:.1} ({:.1}, {:.1})",
            spread.median, spread.min, spread.max
        )
    };
    table.row(vec![
        "counts of 1,000 groups, ms median (least, greatest)".to_owned(),
        spread(groups),
        "20 (aim)".to_owned(),
        yes(groups.median < 20.0),
        report
            .sqlite
            .as_ref()
            .map_or_else(|| "-".to_owned(), |sqlite| spread(sqlite.groups_ms)),
    ]);
    table.render()
}
