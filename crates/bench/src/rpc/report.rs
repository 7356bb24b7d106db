//! The report.

use std::path::Path;

use super::case::{Caller, Calls, Over, Processors};
use super::tally::CallFigures;
use super::{CallRuns, Origin, Rpc};
use crate::error::BenchError;
use crate::report::model::Target;
use crate::report::summary::{number, targets};
use crate::report::table::Table;
use crate::report::write_both;
use crate::spread::Spread;

const METHOD: &str = "\
- Two threads: one has all connections of the client, the other those of the server. With two processors each has its \
own, and at depth 1 most of a latency is the time in which the system wakes a processor; with one processor a latency is \
work alone. So many calls are outstanding on each connection; each answer is followed by the next call.
- In every round each case has its turn. Medians of the rounds, in parentheses the least and the greatest.
- Latencies are from the call to its answer, of all calls. CPU is the time of the thread, the kernel's work for it \
included, for each call.
- Dunlin: `crates/rpc` as the nodes use it, with frames, checksums, deadlines, bounds; a task of tokio for each \
outstanding call. Between threads the calls go through a queue, and nothing is encoded.
- Blocking ping-pong: a write and a read on each side, one request after the other (between threads: two channels of the \
standard library). It has the shortest way that sockets allow: the latencies of the others are compared with it.
- Bare stream: as many requests in a write as were answered by a read. No frames, no checksums, no tasks.
- tonic: unary calls over HTTP/2, the runtime of each side on one thread as for Dunlin, bodies without protobuf.
";

const PAPER: &str = "\
## Beside the paper

Paper 003 measured two machines with ten cores each, over RDMA: 26 Gbit/s at one connection and 30 Gbit/s at four \
connections for each of the ten client cores, which is 325,000 and 375,000 calls a second and core; median latencies 12 and 43 us. \
By these, four and sixteen calls were outstanding for each client core.

| paper 003 | calls/s a core | p50 us | p90 us | p99 us | p99.9 us |
| --- | ---: | ---: | ---: | ---: | ---: |
| 1 connection a core | 325000 | 12 | 14 | 17 | 24 |
| 4 connections a core | 375000 | 43 | 52 | 58 | 72 |

Comparable: calls a second and core, at depth 4 with one and with four connections. Not comparable: latencies in microseconds, \
for there a ping-pong is a few microseconds and here it is what the table says; compare multiples of the ping-pong.
";

/// Writes `rpc.md` and `rpc.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Rpc, directory: &Path) -> Result<Vec<String>, BenchError> {
    write_both("rpc", (report, render(report)), directory)
}

/// How it was made, at the head of a report.
pub fn head(title: &str, origin: &Origin) -> String {
    let quick = if origin.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    format!(
        "# {title}\n{quick}\n\
         - Date: {}\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n- Revision {}\n\
         - {} s a case and round\n",
        origin.date_utc,
        origin.command_line,
        origin.machine.line_without_disk(),
        origin.machine.system,
        origin.machine.kernel,
        origin.revision.as_deref().unwrap_or("unknown"),
        origin.window_s,
    )
}

fn render(report: &Rpc) -> String {
    format!(
        "{}\n## Targets\n\n{}\n## Calls of 1 KiB, answered with 10 bytes\n\n{}\n{PAPER}\n## How it was measured\n\n{METHOD}",
        head("Calls between two threads", &report.origin),
        targets(&evaluate(report)),
        table(report)
    )
}

/// One run, while it goes on.
pub fn line(case: Calls, figures: &CallFigures) -> String {
    format!(
        "{}, {}, {} processors, {} connections, depth {}: {:.0}/s, p50 {:.1} us",
        case.name(),
        case.over.name(),
        case.processors.count(),
        case.connections,
        case.depth,
        figures.per_s,
        figures.p50_us
    )
}

/// A row for each case.
pub fn table(report: &Rpc) -> String {
    let mut table = Table::new(&[
        "",
        "over",
        "processors",
        "connections",
        "depth",
        "calls/s",
        "of tonic",
        "p50 us",
        "ping-pongs",
        "p90 us",
        "p99 us",
        "p99.9 us",
        "client CPU us",
        "server CPU us",
    ]);
    for row in &report.rows {
        let case = row.case;
        let of = |figure: fn(&CallFigures) -> f64| number(row.spread(figure));
        table.row(vec![
            case.name().to_owned(),
            case.over.name().to_owned(),
            case.processors.count().to_string(),
            case.connections.to_string(),
            case.depth.to_string(),
            of(|of| of.per_s),
            beside(report, case.tonic(), row, |of| of.per_s).unwrap_or_default(),
            of(|of| of.p50_us),
            beside(report, case.ping_pong(), row, |of| of.p50_us).unwrap_or_default(),
            of(|of| of.p90_us),
            of(|of| of.p99_us),
            of(|of| of.p999_us),
            of(|of| of.client_us),
            of(|of| of.server_us),
        ]);
    }
    table.render()
}

/// A figure as a multiple of another case's, round by round.
fn multiple(
    report: &Rpc,
    other: Calls,
    row: &CallRuns,
    figure: fn(&CallFigures) -> f64,
) -> Option<Spread> {
    let other = report.rows.iter().find(|row| row.case == other)?;
    let rounds = row.runs.iter().zip(&other.runs);
    let parts = rounds.map(|(own, other)| figure(own) / figure(other).max(1e-9));
    (!row.runs.is_empty()).then(|| Spread::of(parts))
}

fn beside(
    report: &Rpc,
    other: Calls,
    row: &CallRuns,
    figure: fn(&CallFigures) -> f64,
) -> Option<String> {
    let Spread { median, min, max } = multiple(report, other, row, figure)?;
    Some(if min < max {
        format!("{median:.2} ({min:.2} to {max:.2})")
    } else {
        format!("{median:.2}")
    })
}

/// Targets, beside the figures.
pub fn evaluate(report: &Rpc) -> Vec<Target> {
    let row = |processors, depth| {
        let case = Calls {
            caller: Caller::Dunlin,
            over: Over::Tcp,
            connections: 1,
            depth,
            processors,
        };
        report.rows.iter().find(|row| row.case == case)
    };
    let row_1 = row(Processors::One, 1);
    let row_64 = row(Processors::Two, 64);
    let latency = row_1.and_then(|row| multiple(report, row.case.ping_pong(), row, |of| of.p50_us));
    let rate = row_64.and_then(|row| multiple(report, row.case.tonic(), row, |of| of.per_s));
    let calls = row_64.map(|row| row.spread(|of| of.per_s).median);
    let measured = |spread: Option<Spread>| {
        spread.map_or_else(String::new, |spread| format!("{:.2}", spread.median))
    };
    vec![
        Target {
            what: "depth 1 over TCP, one processor, p50".to_owned(),
            wanted: "1.8 ping-pongs at most (aim 1.5)".to_owned(),
            measured: measured(latency),
            met: latency.map(|times| times.median <= 1.8),
        },
        Target {
            what: "depth 64 over TCP, two processors, calls/s".to_owned(),
            wanted: "4 times tonic (aim 600000/s)".to_owned(),
            measured: format!("{} times, {:.0}/s", measured(rate), calls.unwrap_or(0.0)),
            met: rate.map(|times| times.median >= 4.0),
        },
    ]
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
