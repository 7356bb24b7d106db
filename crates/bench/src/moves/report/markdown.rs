//! The report as Markdown.

use super::charts::Chart;
use super::model::Report;
use crate::moves::case::{Case, PartFelt, StepTook};
use crate::moves::plan::UNBOUNDED;
use crate::options::Pacing;
use crate::report::summary::{number, percent, targets};
use crate::report::table::Table;
use crate::spread::Spread;

/// More than this of the CPU time gone elsewhere disturbs the measurement.
const DISTURBED: f64 = 0.15;

const METHOD: &str = "\
- Four `dunlin serve` and one etcd run on this machine and share its cores with the clients. Three \
nodes hold data, each key three times; the fourth is spare until it is added, then the first is \
drained: so before and after the moves one node of four holds nothing, and between them none.
- Clients' connections are spread over all four nodes the whole time; a node without data hands \
requests on. Half of the requests are GET, half PUT, of any of the keys, acknowledged by two of \
three copies. They are meant to start at a constant rate, and latency counts from when a request \
was meant to start (no coordinated omission).
- A part's percentiles are of all its requests. *Seconds over* is the share of its seconds whose own \
99th percentile was above the bound.
- A step takes from its request until no change is under way; *copy* is the part of it until the \
last stored record was copied, and MB/s are keys and values over that part, each copy counted. \
Progress was looked at every 200 ms. CPU is that of all four nodes during the step beyond what they \
needed at the same load in the part before, for each gigabyte moved.
- Every answer is checked: a GET must bring the value of the last write of its key that was \
acknowledged when it was asked, or of a later one. Anything else, and any status but 200 or 201, is \
a failed request.
- Afterwards keys are read back from two of three copies, the nodes are ended, and their stores \
compared with `dunlin copy --verify-only`: those of the three members must be equal record by \
record and hold every key, that of the drained node none. A run in which this is not so ends the \
benchmark without a result.
- Each run has a cluster of its own; conditions take turns in each round. Numbers are the median, in \
parentheses the least and the greatest.
";

/// The whole report, with the charts that lie beside it.
pub fn render(report: &Report, charts: &[Chart]) -> String {
    let mut text = heading(report) + "\n## Targets\n\n" + &targets(&report.targets);
    for chart in charts {
        text += &format!("\n![{}]({}.svg)\n", chart.title, chart.name);
    }
    for case in &report.cases {
        text += &one(case);
    }
    text + "\n## How it was measured\n\n" + METHOD
}

fn heading(report: &Report) -> String {
    let (machine, plan) = (&report.machine, &report.plan);
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    let unknown = || "unknown".to_owned();
    let mut text = format!(
        "# Moving partitions while clients read and write (issue 4)\n{quick}\n\
         - Date: {}; took {:.0} s\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n\
         - Programs: {}; {}\n- Revision: {}\n\
         - Data: {} keys of {} B with values of {} B, {:.3} GB, three times\n\
         - Clients: {:.0} requests a second over {} connections; the bound is a p99 of {:.0} ms\n\
         - Runs of each condition: {}\n",
        report.date_utc,
        report.wall_s,
        report.command_line,
        machine.line("data"),
        machine.system,
        machine.kernel,
        report.dunlin,
        report.etcd.clone().unwrap_or_else(unknown),
        report.revision.clone().unwrap_or_else(unknown),
        plan.keys,
        plan.key_bytes,
        plan.value_bytes,
        plan.bytes() as f64 / 1e9,
        plan.rate_per_s,
        plan.connections,
        report.bound_us_p99 as f64 / 1e3,
        plan.repeats,
    );
    let runs = report.cases.iter().flat_map(|case| &case.runs);
    let parts: Vec<_> = runs.flat_map(|run| &run.parts).collect();
    let other = Spread::of(parts.iter().map(|part| part.machine_other));
    let steal = Spread::of(parts.iter().map(|part| part.machine_steal));
    text += &format!(
        "- CPU time that neither nodes nor clients used, etcd, kernel and others: {} (median of \
         all parts), {} at most; taken by the hypervisor {} at most{}\n",
        percent(other.median),
        percent(other.max),
        percent(steal.max),
        if other.median > DISTURBED {
            ": **disturbed**"
        } else {
            ""
        }
    );
    let is_unbounded = |case: &Case| case.condition.pacing == Pacing::Unbounded;
    if report.cases.iter().any(is_unbounded) {
        text += &format!("- Not bounded: `--move-latency {UNBOUNDED}`\n");
    }
    text
}

fn one(case: &Case) -> String {
    let mut text = format!("\n## {}\n\n", sentence(&case.condition.name()));
    if !case.felt.is_empty() {
        text += &felt(&case.felt);
        text.push('\n');
    }
    text += &steps(&case.steps);
    let mut failures: Vec<&str> = case.runs.iter().map(|run| run.failures.as_str()).collect();
    failures.retain(|text| !text.is_empty());
    if !failures.is_empty() {
        text += &format!("\nFailed: {}\n", failures.join("; "));
    }
    let verified = case.runs.iter().map(|run| &run.verified);
    let verified: Vec<String> = verified
        .map(|verified| {
            let held = verified.copies_by_node.iter();
            let held: Vec<String> = held.map(|(name, keys)| format!("{name} {keys}")).collect();
            format!(
                "{} keys read back, {} overwrites, keys held: {}",
                verified.keys_read,
                verified.overwrites,
                held.join(", ")
            )
        })
        .collect();
    text + &format!("\nAfterwards: {}.\n", verified.join("; "))
}

fn felt(parts: &[PartFelt]) -> String {
    let mut table = Table::new(&[
        "part",
        "s",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "seconds over",
        "machine busy",
        "failed",
    ]);
    for part in parts {
        table.row(vec![
            part.part.clone(),
            number(part.duration_s),
            format!("{:.0}", part.rate_per_s.median),
            ms(part.latency_us_p50),
            ms(part.latency_us_p99),
            ms(part.latency_us_p999),
            ms(part.latency_us_max),
            percent(part.share_of_seconds_over.median),
            percent(part.machine_busy.median),
            format!("{} of {}", part.failed, part.requests),
        ]);
    }
    table.render()
}

fn steps(steps: &[StepTook]) -> String {
    let mut table = Table::new(&["step", "s", "copy s", "records", "MB", "MB/s", "CPU s/GB"]);
    let scaled = |spread: Spread, by: f64| {
        number(Spread {
            median: spread.median / by,
            min: spread.min / by,
            max: spread.max / by,
        })
    };
    for step in steps {
        table.row(vec![
            step.step.clone(),
            number(step.duration_s),
            number(step.copy_s),
            format!("{:.0}", step.records.median),
            scaled(step.bytes, 1e6),
            scaled(step.bytes_per_s, 1e6),
            step.cpu_s_per_gb.map_or_else(String::new, number),
        ]);
    }
    table.render()
}

fn ms(us: Spread) -> String {
    let ms = |us: f64| us / 1e3;
    if us.min < us.max {
        format!(
            "{:.1} ({:.1} to {:.1})",
            ms(us.median),
            ms(us.min),
            ms(us.max)
        )
    } else {
        format!("{:.1}", ms(us.median))
    }
}

fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + rest.as_str()
}
