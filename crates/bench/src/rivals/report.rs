//! What is written down of it.

use std::path::Path;

use super::case::Ask;
use super::failover::Failover;
use super::{Cell, Report};
use crate::error::BenchError;
use crate::measure::Run;
use crate::options::Shape;
use crate::report::summary::{ms, number};
use crate::report::table::Table;
use crate::report::write_files;
use crate::spread::Spread;

const METHOD: &str = "\
- All stores run side by side on this machine, three nodes each (Redis: a primary and one replica), and have their turns \
in every round; the others are idle meanwhile. What each is asked for and why: decision 43.
- One generator for all, which shares the machine with the servers: each store's own protocol (HTTP/1.1, gRPC over HTTP/2, \
NATS, RESP), connections spread over the three nodes in turn, on each as soon as it is answered the next request. \
Redis takes all at its primary.
- A put is of a new key, a get of one of those that were written and read back before. An error, a wrong value or a broken \
connection is an error of its row.
- CPU is user and system time of all servers of a store, with what they still spent after the window until idle; switches \
are context switches of all their threads.
- Medians of the rounds; in parentheses the least and the greatest.
";

/// Writes `rivals.md` and `rivals.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, BenchError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let files: Vec<(String, Vec<u8>)> = vec![
        ("rivals.json".into(), json.into()),
        ("rivals.md".into(), render(report).into()),
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
    let runs = || report.cells.iter().flat_map(|cell| &cell.runs);
    let other = Spread::of(runs().map(|run| run.machine_other * 100.0));
    let steal = Spread::of(runs().map(|run| run.machine_steal * 100.0));
    let left_out: String = report
        .left_out
        .iter()
        .map(|reason| format!("- {}\n", reason.lines().next().unwrap_or_default()))
        .collect();
    let lengths = report.lengths;
    format!(
        "# Beside other stores\n{quick}\n\
         - Date: {}; took {:.0} s\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n\
         - Programs: {}; revision {}\n{left_out}\
         - Dunlin: three nodes, {}\n\
         - Values of {} bytes, keys of 16; reads of {} records\n\
         - Runs of {:.1} s of which the first {:.1} s are not counted, {} of each\n\
         - The disk alone does {:.0} writes of 4 KiB with `fdatasync` a second (p50 {} us, p99 {} us)\n\
         - CPU time that neither the servers nor the generator used: {:.1} % (median), {:.1} % at most; taken by the \
         hypervisor {:.1} % at most\n\n\
         {}\n## How it was measured\n\n{METHOD}",
        report.date_utc,
        report.wall_s,
        report.command_line,
        report.machine.line("data"),
        report.machine.system,
        report.machine.kernel,
        report.programs.join("; "),
        report.revision.as_deref().unwrap_or("unknown"),
        match report.cluster {
            Shape::Up => "one process (`dunlin up`)",
            Shape::Processes =>
                "three processes (`dunlin serve`) with their metadata in an etcd of their own",
        },
        report.value_bytes,
        lengths.fill,
        lengths.run.as_secs_f64(),
        lengths.warmup.as_secs_f64(),
        lengths.repeats,
        report.disk.syncs_per_s,
        report.disk.sync_us_p50,
        report.disk.sync_us_p99,
        other.median,
        other.max,
        steal.max,
        tables(report)
    )
}

/// A table for each thing that is asked for.
pub fn tables(report: &Report) -> String {
    let sections = [
        ("Puts", "acknowledged", Ask::Put),
        (
            "Gets that see what was acknowledged before",
            "read",
            Ask::Get,
        ),
        (
            "Puts on the condition that there is no value",
            "asked",
            Ask::Swap,
        ),
        (
            "Transactions: two keys are written, on the condition that neither has a value",
            "asked",
            Ask::Pair,
        ),
        (
            "Transactions: a key is read and another written",
            "answered",
            Ask::ReadWrite,
        ),
        ("Gets of one replica, which may be behind", "read", Ask::Any),
    ];
    let sections = sections.map(|(title, means, ask)| {
        let is_of = |cell: &&Cell| {
            let apart = ask == Ask::Pair && cell.case.ask == Ask::PairApart;
            apart || cell.case.ask == ask
        };
        let of_ask = report.cells.iter().filter(is_of);
        format!("## {title}\n\n{}", table(means, of_ask))
    });
    sections.join("\n") + &failovers(&report.failovers)
}

/// How long nothing was written after leaders were killed.
fn failovers(all: &[Failover]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["store", "kills", "median", "least", "greatest"]);
    for failover in all {
        let spread = Spread::of(failover.without_service_ms.iter().copied());
        let shown = |figure: f64| format!("{figure:.0} ms");
        table.row(vec![
            failover.setup.name().to_owned(),
            failover.without_service_ms.len().to_string(),
            shown(spread.median),
            shown(spread.min),
            shown(spread.max),
        ]);
    }
    format!(
        "\n## Without service when the leader is killed\n\nFrom `kill -9` to the first put that was begun after it at one of the two others and acknowledged.\n\n{}",
        table.render()
    )
}

fn table<'a>(means: &str, cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut table = Table::new(&[
        "store",
        means,
        "connections",
        "requests/s",
        "p50",
        "p99",
        "CPU us/request",
        "switches/request",
        "generator us",
        "errors",
    ]);
    for cell in cells {
        let of = |figure: fn(&Run) -> f64| Spread::of(cell.runs.iter().map(figure));
        table.row(vec![
            cell.case.setup.name().to_owned(),
            cell.case.means.to_owned(),
            cell.connections.to_string(),
            rate(of(|run| run.rate_per_s)),
            ms(of(|run| run.latency_us_p50 as f64).median),
            ms(of(|run| run.latency_us_p99 as f64).median),
            number(of(|run| run.server_cpu_us + run.server_cpu_us_deferred)),
            format!("{:.2}", of(|run| run.server_switches).median),
            format!("{:.1}", of(|run| run.generator_cpu_us).median),
            errors(&cell.runs),
        ]);
    }
    table.render()
}

fn rate(Spread { median, min, max }: Spread) -> String {
    if min < max {
        format!("{median:.0} ({min:.0} to {max:.0})")
    } else {
        format!("{median:.0}")
    }
}

/// Those of all rounds in words.
fn errors(runs: &[Run]) -> String {
    let mut parts: Vec<String> = runs
        .iter()
        .map(|run| run.errors_text.clone())
        .filter(|text| !text.is_empty())
        .collect();
    let unfinished: u64 = runs.iter().map(|run| run.unfinished).sum();
    if unfinished > 0 {
        parts.push(format!("{unfinished} without an answer"));
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join("; ")
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
