//! The report as Markdown.

use super::model::{Point, Report, Summary};
use super::summary::{ms, percent, rates, ratios, targets};
use super::table::Table;
use crate::load::key::Order;
use crate::quorum::paper;

/// The whole report; `name` is that of the plot beside it.
pub fn render(report: &Report, name: &str) -> String {
    let sections = [
        heading(report),
        section("Targets", &targets(&report.targets)),
        section(
            "Highest rate with at least 95 % under 2 ms",
            &(rates_note(report) + &rates(report)),
        ),
        format!("![Latency by percentile]({name}.svg)\n"),
        section("Replicated over unreplicated", &ratios(report)),
        section("At the paper's rates", &paper_rates(&report.at_paper_rates)),
        section("Closed loop", &closed(&report.closed)),
        section("Synced puts", &group_commit(report)),
        section("Memory", &idle(report)),
        section("How it was measured", METHOD),
    ];
    let text: Vec<String> = sections
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    text.join("\n")
}

const METHOD: &str = "\
- The load is at a constant rate over keep-alive HTTP/1.1 connections with one request \
outstanding each. Latency counts from the time a request was meant to start, so a stall is felt \
by every request meant to start in it (no coordinated omission). Requests never answered count \
with the latency they had when the run was given up.
- Connections are spread over the three nodes in turn. A wrong status, a wrong value or a broken \
connection makes a run invalid. Reads are of records that this run wrote and verified.
- 1 copy: each key on one of the three nodes (a keyspace of one replica, `ack=1&from=1`, the \
paper's `0 RF`). 3 copies: `ack=2&from=3`. Both run in turns on the same cluster in the same run.
- A rate counts as held when the median of its full runs has at least 95 % under 2 ms, at least \
98 % of the intended rate was reached, and no answer was wrong.
- Server CPU is user and system time of the server processes, with what they still spent after \
the window until idle. The generator shares the machine with the servers.
- Times are medians of the repeats; in parentheses the least and the greatest.
";

/// More than this of the CPU time gone elsewhere disturbs the measurement.
const DISTURBED: f64 = 0.08;

fn section(title: &str, body: &str) -> String {
    format!("## {title}\n\n{body}")
}

fn heading(report: &Report) -> String {
    let (machine, timing) = (&report.machine, &report.settings.timing);
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    let etcd = report.programs.etcd.as_deref();
    let dunlin = match &report.programs.revision {
        Some(revision) => format!("{} ({revision})", report.programs.dunlin),
        None => report.programs.dunlin.clone(),
    };
    format!(
        "# One copy against three (paper 004)\n{quick}\n\
         - Date: {}; took {:.0} s\n- Command: `{}`\n\
         - Machine: {}\n\
         - System: {}, kernel {}\n- Programs: {}\n\
         - Cluster: three nodes, {}; values of {} bytes, {} keys of 16 bytes, {} records to read\n\
         - Full runs: {:.0} s of which the first {:.0} s are not counted, {} each\n",
        report.date_utc,
        report.wall_s,
        report.command_line,
        machine.line("data"),
        machine.system,
        machine.kernel,
        Vec::from_iter([Some(dunlin.as_str()), etcd].into_iter().flatten()).join("; "),
        match report.settings.cluster {
            crate::options::Shape::Up => "one process (`dunlin up`)",
            crate::options::Shape::Processes => "three processes on etcd (`dunlin serve`)",
        },
        report.settings.value_bytes,
        match report.settings.keys {
            Order::Sequential => "growing",
            Order::Random => "scattered",
        },
        timing.fill,
        timing.run.as_secs_f64(),
        timing.run_warmup.as_secs_f64(),
        timing.repeats,
    )
}

fn rates_note(report: &Report) -> String {
    let greatest = |share: fn(&Summary) -> f64| {
        let shares = report.cells.iter().map(|cell| share(&cell.summary));
        shares.fold(0.0, f64::max)
    };
    let other = greatest(|summary| summary.machine_other.median);
    let steal = greatest(|summary| summary.machine_steal.median);
    let warning = if other + steal > DISTURBED {
        " **The machine was not quiet: these numbers are too low.**"
    } else {
        ""
    };
    format!(
        "Sync `never`. In the worst case others than servers and generator used {} of the CPU \
         time, and the hypervisor took {} (medians).{warning} A rate that is not held passed \
         short probes only.\n\n",
        percent(other),
        percent(steal)
    )
}

fn paper_rates(points: &[Point]) -> String {
    let mut table = Table::new(&[
        "case",
        "rate/s",
        "reached",
        "< 2 ms",
        "paper",
        "mean",
        "paper",
        "p99",
        "p99.99",
        "server CPU us",
        "errors",
    ]);
    for Point { case, run } in points {
        let paper = paper::table(case.verb, case.copies.from > 1);
        table.row(vec![
            case.name(),
            format!("{:.0}", paper.rate_per_s),
            format!("{:.0}", run.rate_per_s),
            percent(run.share_under_2ms),
            format!("{:.0} %", paper.share_under_2ms * 100.0),
            ms(run.latency_us_mean),
            ms(paper.latency_us_mean),
            ms(run.latency_us_p99 as f64),
            ms(run.latency_us_p9999 as f64),
            format!("{:.1}", run.server_cpu_us + run.server_cpu_us_deferred),
            none_if_empty(&run.errors_text),
        ]);
    }
    table.render()
}

fn closed(points: &[Point]) -> String {
    let mut table = Table::new(&[
        "case",
        "rate/s",
        "mean",
        "p50",
        "p99",
        "server CPU us",
        "a replica",
        "generator us",
        "errors",
    ]);
    for Point { case, run } in points {
        let cpu = run.server_cpu_us + run.server_cpu_us_deferred;
        table.row(vec![
            case.name(),
            format!("{:.0}", run.rate_per_s),
            ms(run.latency_us_mean),
            ms(run.latency_us_p50 as f64),
            ms(run.latency_us_p99 as f64),
            format!("{cpu:.1}"),
            format!("{:.1}", cpu / f64::from(case.replicas_at_work())),
            format!("{:.1}", run.generator_cpu_us),
            none_if_empty(&run.errors_text),
        ]);
    }
    table.render()
}

fn group_commit(report: &Report) -> String {
    let mut table = Table::new(&[
        "connections",
        "puts/s",
        "puts a sync",
        "p50",
        "p99",
        "server CPU us",
        "errors",
    ]);
    for row in &report.group_commit {
        table.row(vec![
            row.run.connections.to_string(),
            format!("{:.0}", row.run.rate_per_s),
            row.puts_per_sync
                .map_or("unknown".into(), |puts| format!("{puts:.1}")),
            ms(row.run.latency_us_p50 as f64),
            ms(row.run.latency_us_p99 as f64),
            format!(
                "{:.1}",
                row.run.server_cpu_us + row.run.server_cpu_us_deferred
            ),
            none_if_empty(&row.run.errors_text),
        ]);
    }
    format!(
        "Sync `always`, 3 copies, closed loop. Puts a sync: log records over log syncs, all logs \
         together. The same disk alone does {:.0} writes of 4 KiB with `fdatasync` a second \
         (p50 {} us, p99 {} us).\n\n{}",
        report.disk.syncs_per_s,
        report.disk.sync_us_p50,
        report.disk.sync_us_p99,
        table.render()
    )
}

fn idle(report: &Report) -> String {
    format!(
        "Resident memory of the idle cluster: {:.0} MB when it first answers, {:.0} MB after \
         5 s.\n",
        report.idle.resident_bytes_at_start as f64 / 1e6,
        report.idle.resident_bytes as f64 / 1e6
    )
}

fn none_if_empty(text: &str) -> String {
    if text.is_empty() { "none" } else { text }.to_owned()
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
