//! The report.

use std::path::Path;

use dunlin_tpcc::scale::Scale;

use super::case::{Engine, TpccCase};
use super::figures::{KindFigures, TpccFigures};
use super::model::{Tpcc, TpccRuns, WorkloadRuns};
use super::targets::evaluate;
use crate::error::BenchError;
use crate::report::summary::{number, targets};
use crate::report::table::Table;
use crate::report::write_both;
use crate::rpc::report::head;
use crate::spread::Spread;

const METHOD: &str = "\
- Derived from TPC-C 5.11, and **not comparable with published results of TPC-C**: terminals do not wait for people who type and \
think (with them a warehouse does at most 12.86 NewOrders a minute), and nothing of it is audited.
- The mix `full` has decks of 45 NewOrders, 43 Payments and 4 of each other type; 60 % of the customers by last name, 15 % of the \
payments for customers of other warehouses, 1 % of the lines from there, 1 % of the NewOrders rolled back. The mix `paper` has \
57 % NewOrders and 43 % Payments by number, all in the home warehouse, and keeps no index of orders by customer.
- The same program, rows and input for all; a terminal has one transaction under way, and tries it until it has happened. \
*Refused* are attempts that others were in the way of, for each NewOrder and Payment that happened.
- All terminals have one processor, all servers together the other. In every round each case has its turn; medians, in parentheses the \
least and the greatest. Servers are warm for five seconds before a round counts.
- Deliveries are deferred (clause 2.7): a terminal queues one and goes on, one connection for each warehouse carries them out, and their times \
run from when they were queued. The log of their results is in the file that `--deliveries` names.
- Dunlin: `dunlin serve --sync always --txn-time 15s --txn-retention 45s`, one shard, one range, by direct clients; columns that are written together are rows of their own \
(clause 1.4 allows it), and items are copied to each warehouse. Hot rows are read behind a lock of their key.
- PostgreSQL: the package with its defaults, nine tables without foreign keys, prepared statements of several rows, those without a \
result in between sent together: NewOrder takes two rounds in either. Read committed with `FOR UPDATE` is what users run; \
serializable is what Dunlin promises.
- Conditions 1 to 12 of clause 3.3.2 hold after the load and after each round; then the eleventh is: orders less new orders are \
those that were delivered. The sum of W_YTD is that of all payments that were acknowledged. A round after which one does not hold ends \
the run with an error.
- CPU is user and system time of all servers for each transaction. Bytes are those of the servers' directories, logs included.
";

const PAPER: &str = "\
## Beside the paper

Paper 003 gives 2,200 transactions a second for the mix `paper` on one warehouse with one client: one core for its servers of rows, and others \
for its oracle, its catalogue and its persistence, which wrote nothing to a disk; each row has one remote copy in memory. Over RDMA one of its \
rounds takes about 8 us, here a ping-pong over TCP between two processors takes 60 to 100 us (rpc.md), and a NewOrder has two of them. One replica in memory is less than \
its copy, three are more. Its run of 12 warehouses has one client each, so that no two transactions meet; ten terminals on one warehouse \
stand here instead.
";

/// Writes `tpcc.md` and `tpcc.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Tpcc, directory: &Path) -> Result<Vec<String>, BenchError> {
    write_both("tpcc", (report, render(report)), directory)
}

/// One round, while the run goes on.
pub fn line(case: TpccCase, figures: &TpccFigures) -> String {
    let cpu = figures.server_us;
    let cpu = cpu.map_or_else(String::new, |us| format!(", servers {us:.0} us"));
    format!(
        "{}: {:.0} NewOrders a minute, {:.0} transactions/s, {:.3} refused{cpu}; all conditions hold",
        case.name(),
        figures.new_orders_per_min,
        figures.per_s,
        figures.refused(),
    )
}

fn render(report: &Tpcc) -> String {
    let killed = if report.is_killed {
        "\n- The leader of all rows is killed (`kill -9`) in the middle of each round, and starts again after a second"
    } else {
        ""
    };
    let waits = if report.keying {
        "as specified"
    } else {
        "none"
    };
    let mut text = head("A workload derived from TPC-C", &report.origin);
    let Scale { items, customers } = report.scale;
    text += &format!(
        "- {items} items a warehouse, {customers} customers a district; keying and think times: {waits}{killed}\n"
    );
    let reached = evaluate(report);
    if reached.iter().any(|target| target.met.is_some()) {
        text += &format!("\n## Targets\n\n{}", targets(&reached));
    }
    for workload in &report.workloads {
        let name = workload.workload.name();
        let (all, types) = (all(workload), types(&workload.rows));
        text += &format!("\n## {name}\n\n{all}\n{types}");
    }
    text + &format!("\n{PAPER}\n## How it was measured\n\n{METHOD}")
}

/// The table of each workload.
pub fn table(report: &Tpcc) -> String {
    let tables = report.workloads.iter().map(|of| {
        let (name, all) = (of.workload.name(), all(of));
        format!("{name}\n{all}")
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// A row for each case.
fn all(workload: &WorkloadRuns) -> String {
    let mut table = Table::new(&[
        "",
        "NewOrders/min",
        "transactions/s",
        "refused",
        "server CPU us",
        "MB",
        "not known",
        "loaded, rows/s",
        "beside read committed",
        "beside serializable",
    ]);
    for (row, loads_per_s) in workload.rows.iter().zip(&workload.loads_per_s) {
        let of = |figure: fn(&TpccFigures) -> f64| number(row.spread(figure));
        let is_measured = workload
            .dunlin(row.case.medium)
            .is_some_and(|own| own.case == row.case);
        let beside = |engine| {
            let ratio = workload
                .beside(row.case.medium, engine)
                .filter(|_| is_measured);
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        let refused = row.spread(TpccFigures::refused).median;
        table.row(vec![
            row.case.name(),
            of(|of| of.new_orders_per_min),
            of(|of| of.per_s),
            format!("{refused:.3}"),
            of(|of| of.server_us.unwrap_or(f64::NAN)).replace("NaN", ""),
            format!("{:.0}", row.spread(|of| of.bytes as f64 / 1e6).median),
            of(|of| of.unknown as f64),
            format!("{loads_per_s:.0}"),
            beside(Engine::ReadCommitted),
            beside(Engine::Serializable),
        ]);
    }
    table.render()
}

fn types(rows: &[TpccRuns]) -> String {
    let mut table = Table::new(&[
        "",
        "type",
        "done",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "refused",
        "not answered",
        "rolled back",
    ]);
    for row in rows {
        let Some(first) = row.runs.first() else {
            continue;
        };
        for (name, _) in &first.kinds {
            let of = |figure: fn(&KindFigures) -> f64| {
                let all = row.runs.iter().flat_map(|run| &run.kinds);
                let of_kind = all.filter(|(of, _)| of == name).map(|(_, of)| figure(of));
                Spread::of(of_kind).median
            };
            table.row(vec![
                row.case.name(),
                (*name).to_owned(),
                format!("{:.0}", of(|of| of.count as f64)),
                format!("{:.2}", of(|of| of.p50_ms)),
                format!("{:.2}", of(|of| of.p90_ms)),
                format!("{:.2}", of(|of| of.p99_ms)),
                format!("{:.0}", of(|of| of.refused as f64)),
                format!("{:.0}", of(|of| of.unavailable as f64)),
                format!("{:.0}", of(|of| of.rolled_back as f64)),
            ]);
        }
    }
    table.render()
}
