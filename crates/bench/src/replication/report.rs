//! What is written down of it.

use std::path::Path;

use super::{Cell, Kind, Linked, Report, Row};
use crate::error::BenchError;
use crate::report::table::Table;
use crate::report::write_files;

const METHOD: &str = "\
- Two nodes, a process each, their etcd, the load, the probe and all clients on one machine. Every key is on both \
nodes (`--replicas 2`); values have 1,024 bytes; a set is acknowledged by one node (`ack=1&from=2`), as in the paper.
- The load keeps its rate whatever happens; every row has a cluster of its own.
- Items remaining: log records that the other node has yet to acknowledge, of both nodes, every 500 ms. MB/s: bytes of \
entries sent between them.
- Visible: a unique key is written at one node in turn, and asked for at both every 2 ms until both have it, 20 times a \
second.
- Clients begin at the beginning when a tenth of the cell is over, half of them at each node. Complete: every key of \
the load was told, with its value; the time is that of the last client, behind the end of the load.
- Quiet clients follow from now on a keyspace of their own, that nobody writes, half of them at each node.
- Views: one of all keys, with a count, made before the load.
- Links: one of the keyspace to a cluster of two more nodes on the same machine, made before the load. Link ms: from a \
write to the acknowledgement by both nodes there, of the last 4,096 of each shard under load; caught up: all was \
acknowledged, so long after the load. Memory and CPUs are those of the first cluster.
- Redis: `XADD` of key and value to one stream at the primary, without a sync or an acknowledgement of the replica; \
clients ask for 256 entries at a time with `XREAD BLOCK`, half of them at the replica; the probe is a key that is set at \
the primary. It keeps no keys by that, only the stream, in memory, and never drops of it.
- One client that is told all there is (`until=end`) five times, of a cluster of two nodes that has nothing else to do: \
as stored records, the log having gone, or out of the log. MB/s are keys and values; values are no text, so that lines \
have them in base64, a third longer.
- Memory: the most resident memory of both nodes above that before the load. Without clients it grows, too: memtables \
and caches fill.
";

/// Writes `replication.md` and `replication.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let files: Vec<(String, Vec<u8>)> = vec![("replication.md".into(), render(report).into())];
    write_files(directory, &files)?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn render(report: &Report) -> String {
    format!(
        "# Replication under constant rates, and stream clients beside it (paper 001)\n\n\
         - Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n- Programs: {}; revision {}\n\
         - Sync: {}; shards of each node: {}; {} s a cell (paper: 900)\n\n{}\n## How it was measured\n\n{METHOD}",
        report.date_utc,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.dunlin,
        report.revision.as_deref().unwrap_or("unknown"),
        report.sync,
        report.shards,
        report.cell_s,
        tables(report)
    )
}

/// All of them.
pub fn tables(report: &Report) -> String {
    let tables = [
        table(&report.cells),
        of_redis(report),
        drains(report),
        targets(report),
    ];
    tables.join("\n")
}

/// A row for each cell.
fn table(cells: &[Cell]) -> String {
    let head = [
        "sets/s",
        "clients",
        "quiet clients",
        "views",
        "links",
        "reached",
        "items remaining avg, max",
        "MB/s avg, max, min",
        "visible ms p80, p95, p99",
        "set ms p99",
        "complete",
        "after s",
        "told MB/s",
        "told again",
        "memory MB",
        "CPUs",
        "link ms p80, p95, p99",
        "link caught up s",
    ];
    let mut table = Table::new(&head);
    for cell in cells {
        let of_clients = |text: String| match cell.row.clients {
            0 => "-".to_owned(),
            _ => text,
        };
        let or_none = |text: String| {
            if cell.tells_items {
                text
            } else {
                "-".to_owned()
            }
        };
        let [mb_average, mb_max, mb_min] = cell.mb_per_s;
        let [p80, p95, p99] = cell.visible_ms;
        table.row(vec![
            cell.row.rate.to_string(),
            cell.row.clients.to_string(),
            match cell.row.quiet {
                0 => "-".to_owned(),
                quiet => format!("{} of {quiet}", cell.quiet_left),
            },
            match cell.row.views {
                0 => "-".to_owned(),
                views => views.to_string(),
            },
            match cell.row.links {
                0 => "-".to_owned(),
                links => links.to_string(),
            },
            format!("{:.0}", cell.rate_reached),
            or_none(format!("{:.0}, {}", cell.items_average, cell.items_max)),
            or_none(format!("{mb_average:.1}, {mb_max:.1}, {mb_min:.1}")),
            format!("{p80:.1}, {p95:.1}, {p99:.1}"),
            format!("{:.1}", cell.set_ms_p99),
            of_clients(format!("{} of {}", cell.complete, cell.row.clients)),
            of_clients(format!("{:.1}", cell.complete_s)),
            of_clients(format!("{:.1}", cell.told_mb_per_s)),
            of_clients(cell.told_again.to_string()),
            format!("{:.0}", cell.memory_mb),
            format!("{:.2}", cell.cpus),
            of_link(cell, |linked| {
                let [p80, p95, p99] = linked.latency_ms;
                format!("{p80}, {p95}, {p99}")
            }),
            of_link(cell, |linked| format!("{:.1}", linked.complete_s)),
        ]);
    }
    table.render()
}

fn of_link(cell: &Cell, text: impl Fn(&Linked) -> String) -> String {
    cell.linked.as_ref().map_or_else(|| "-".to_owned(), text)
}

/// The same of Redis.
fn of_redis(report: &Report) -> String {
    if report.redis.is_empty() {
        return String::new();
    }
    let version = report.redis_version.as_deref().unwrap_or("Redis");
    format!(
        "Beside it, each behind the row of the same rate and clients: {version}, a primary and a replica.\n\n{}\n",
        table(&report.redis)
    )
}

/// How fast one client is told all there is.
fn drains(report: &Report) -> String {
    if report.drains.is_empty() {
        return String::new();
    }
    let head = [
        "one client, out of",
        "entries",
        "bytes of a value",
        "entries/s median (least, greatest)",
        "MB/s median (least, greatest)",
        "CPUs",
    ];
    let mut table = Table::new(&head);
    for drain in &report.drains {
        let (rate, mb) = (drain.entries_per_s, drain.mb_per_s);
        table.row(vec![
            match drain.kind {
                Kind::Snapshot => "a snapshot".to_owned(),
                Kind::Log => "a log".to_owned(),
            },
            drain.entries.to_string(),
            drain.value_bytes.to_string(),
            format!("{:.0} ({:.0}, {:.0})", rate.median, rate.min, rate.max),
            format!("{:.0} ({:.0}, {:.0})", mb.median, mb.min, mb.max),
            format!("{:.2}", drain.cpus),
        ]);
    }
    format!("{}\n", table.render())
}

/// The targets of links.
fn link_targets(cells: &[Cell], row: &mut impl FnMut(&str, String, String, bool)) {
    for cell in cells {
        let Some(linked) = &cell.linked else { continue };
        let name = format!("{} link and {} views", cell.row.links, cell.row.views);
        let visible = cell.visible_ms[2];
        let wanted = "50 ms (paper, with a view: 1,205)".to_owned();
        let what = format!("{name}, visible p99");
        row(&what, wanted, format!("{visible:.1} ms"), visible < 50.0);
        let p99 = linked.latency_ms[2];
        let what = format!("{name}, link p99");
        row(&what, "200 ms".to_owned(), format!("{p99} ms"), p99 < 200);
    }
}

/// What was to be reached, beside what was.
fn targets(report: &Report) -> String {
    let mut table = Table::new(&["target", "wanted", "measured", "reached"]);
    let alone = |rate| {
        let mut cells = report.cells.iter();
        cells.find(|cell| {
            let Row {
                rate: of,
                clients,
                views,
                links,
                ..
            } = cell.row;
            (of, clients, views, links) == (rate, 0, 0, 0)
        })
    };
    let mut row = |what: &str, wanted: String, measured: String, is_reached: bool| {
        let reached = if is_reached { "yes" } else { "no" };
        table.row(vec![what.to_owned(), wanted, measured, reached.to_owned()]);
    };
    if let Some(cell) = alone(14_000) {
        let p99 = cell.visible_ms[2];
        let (what, wanted) = ("14,000 sets/s alone, visible p99", "10 ms (paper: 7,253)");
        row(what, wanted.into(), format!("{p99:.1} ms"), p99 < 10.0);
    }
    let most = |quiet: bool| {
        let cells = report.cells.iter();
        let cells = cells.filter(|cell| cell.row.clients > 0 && (cell.row.quiet > 0) == quiet);
        let beside = cells.max_by_key(|cell| cell.row.clients)?;
        Some((beside, alone(beside.row.rate)?))
    };
    if let Some((beside, alone)) = most(false) {
        let (p99, before) = (beside.visible_ms[2], alone.visible_ms[2]);
        let what = format!("{} clients, visible p99", beside.row.clients);
        let wanted = format!("{:.1} ms, twice that alone", 2.0 * before);
        row(&what, wanted, format!("{p99:.1} ms"), p99 <= 2.0 * before);
        let what = format!("{} clients complete", beside.row.clients);
        let is_complete = beside.complete == beside.row.clients;
        let measured = format!("{} of {}", beside.complete, beside.row.clients);
        row(&what, "all (paper: never)".into(), measured, is_complete);
        let more = beside.memory_mb - alone.memory_mb;
        let what = format!("{} clients, memory above that alone", beside.row.clients);
        row(&what, "64 MB".into(), format!("{more:.0} MB"), more < 64.0);
    }
    if let Some((beside, alone)) = most(true) {
        let clients = format!(
            "{} clients and {} quiet ones",
            beside.row.clients, beside.row.quiet
        );
        let (p99, before) = (beside.visible_ms[2], alone.visible_ms[2]);
        let wanted = format!("{:.1} ms, twice that alone", 2.0 * before);
        let what = format!("{clients}, visible p99");
        row(&what, wanted, format!("{p99:.1} ms"), p99 <= 2.0 * before);
        let more = beside.memory_mb - alone.memory_mb;
        let what = format!("{clients}, memory above that alone");
        row(
            &what,
            "100 MB".into(),
            format!("{more:.0} MB"),
            more < 100.0,
        );
    }
    link_targets(&report.cells, &mut row);
    let viewed = |cell: &&Cell| cell.row.views > 0 && cell.row.links == 0;
    for cell in report.cells.iter().filter(viewed) {
        if let Some(alone) = alone(cell.row.rate) {
            let (p99, before) = (cell.visible_ms[2], alone.visible_ms[2]);
            let what = format!("{} view, visible p99", cell.row.views);
            let wanted = format!("{:.1} ms, 1.3 times that alone", 1.3 * before);
            row(&what, wanted, format!("{p99:.1} ms"), p99 <= 1.3 * before);
        }
    }
    for drain in &report.drains {
        let (mb, entries) = (drain.mb_per_s.median, drain.entries_per_s.median);
        match drain.kind {
            Kind::Snapshot => {
                let measured = format!("{mb:.0} MB/s");
                row(
                    "one client, a snapshot",
                    "100 MB/s".into(),
                    measured,
                    mb >= 100.0,
                );
            }
            Kind::Log => {
                let measured = format!("{entries:.0} entries/s");
                row(
                    "one client, a log",
                    "200000 entries/s".into(),
                    measured,
                    entries >= 2e5,
                );
            }
        }
    }
    table.render()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
