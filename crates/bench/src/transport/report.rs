//! The report.

use std::path::Path;

use super::case::{MESSAGE_BYTES, Messages};
use super::{MessageFigures, Transport};
use crate::error::BenchError;
use crate::report::summary::number;
use crate::report::table::Table;
use crate::report::write_both;
use crate::rpc::report::head;

const METHOD: &str = "\
- Two threads, each on a processor of its own: one has all connections of the sender, the other those of the receiver. \
Messages of 1 KiB go one way; for every five of them 10 bytes come back. On each connection 64 times five messages are on their way.
- In every round each case has its turn. Medians of the rounds, in parentheses the least and the greatest.
- Latencies are from the first of five messages to the 10 bytes, waiting for all messages before included: those of \
a user at full load, not the best case. CPU is the time of the thread, the kernel's work for it included, for each message.
- Dunlin: `crates/rpc` as the nodes use it, four requests that are not answered and one that is, framed and checked each.
- Bare stream: as many messages in a write as came back for. No frames, no checksums, no tasks.
- iperf3: two processes, one processor each, of one thread for each connection; nothing comes back, so there is no latency.
";

const PAPER: &str = "\
## Beside the paper

Paper 003 measured two machines with ten cores each over RDMA: 30 Gbit/s together, which is 375,000 messages a second and \
core. Its latencies (p50 1.6 us, p90 2.3, p99 13, p99.9 15) are those of handing a message over, not of its arrival: \
a message of 1 KiB alone takes longer on its network. Comparable is the shape: messages a second and core.
";

/// Writes `transport.md` and `transport.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Transport, directory: &Path) -> Result<Vec<String>, BenchError> {
    write_both("transport", (report, render(report)), directory)
}

fn render(report: &Transport) -> String {
    format!(
        "{}\n## Messages of 1 KiB one way\n\n{}\n{PAPER}\n## How it was measured\n\n{METHOD}",
        head("Messages between two threads", &report.origin),
        table(report)
    )
}

/// One run, while it goes on.
pub fn line(case: Messages, figures: &MessageFigures) -> String {
    format!(
        "{}, {}, {} connections: {:.0}/s, {:.2} Gbit/s",
        case.name(),
        case.over.name(),
        case.connections,
        figures.per_s,
        gbit_per_s(figures)
    )
}

fn gbit_per_s(figures: &MessageFigures) -> f64 {
    figures.per_s * MESSAGE_BYTES as f64 * 8.0 / 1e9
}

/// A row for each case.
pub fn table(report: &Transport) -> String {
    let mut table = Table::new(&[
        "",
        "over",
        "connections",
        "messages/s",
        "Gbit/s",
        "p50 us",
        "p99 us",
        "sender CPU us",
        "receiver CPU us",
    ]);
    for row in &report.rows {
        let of = |figure: fn(&MessageFigures) -> f64| number(row.spread(figure));
        let waited = |figure: fn(&MessageFigures) -> f64| {
            if row.spread(figure).max > 0.0 {
                of(figure)
            } else {
                String::new()
            }
        };
        table.row(vec![
            row.case.name(),
            row.case.over.name().to_owned(),
            row.case.connections.to_string(),
            of(|of| of.per_s),
            of(gbit_per_s),
            waited(|of| of.p50_us),
            waited(|of| of.p99_us),
            of(|of| of.sender_us),
            of(|of| of.receiver_us),
        ]);
    }
    table.render()
}
