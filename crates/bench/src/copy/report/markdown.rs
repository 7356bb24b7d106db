//! The report as Markdown.

use super::charts::Chart;
use super::model::Report;
use crate::copy::case::{Case, Taken};
use crate::copy::plan::VARIED_VALUE_BYTES;
use crate::copy::setting::Setting;
use crate::copy::way::{Bound, Way};
use crate::report::summary::{percent, targets};
use crate::report::table::Table;
use crate::spread::Spread;

/// More than this of the CPU time gone elsewhere disturbs the measurement.
const DISTURBED: f64 = 0.15;

const METHOD: &str = "\
- Both sides of a copy run on this machine and share its cores. Rates are bytes of keys and values \
(the paper's counting) over the time from the start of the sender's process, checkpoint and all, \
until every byte and name is on disk. rsync and cp carry the same database as files, which are a \
little more than its keys and values.
- On disk on all sides: after each copy every file and directory of the target is synced, and that \
counts. `dunlin copy` has done so itself before it ends (each part of a file, each table, the \
manifest, each directory), so there is nothing left to sync; for rsync and cp this is where their \
data is written. How long it took is the column *sync after*.
- All sources are read from the page cache: each is read once before its first copy. The target is \
removed after each copy, and the file system has nothing left to write when the next one begins.
- In each round every way has one run, and each round begins with the next way. Numbers are the \
median, in parentheses the least and the greatest; ratios are of runs of the same round. Memory is \
the most of all runs.
- Sources are made by `db_bench`: keys inserted once each in random order, values cut out of random \
bytes, no compression, then compacted. Tables that `ingest` and `insert` write are not compressed \
either, as those of the source; with their own default, LZ4, they are among the settings below.
- Counting is checked: in every run of `ingest` and `insert` the pairs and bytes that `dunlin copy` \
reports are those that were made. All copies of the first round, those of rsync and cp too, are \
compared with the source pair by pair (`dunlin copy --verify-only`).
- CPU is user and system time of all processes of a side; the kernel's threads that write to the \
disk are not in it. Memory is the peak resident size (VmHWM), looked at every 20 ms and added up \
over the processes of a side.
- *Rate varies by* is the coefficient of variation of the rate over time, by the loopback's own \
counter of bytes: samples of 1 s, or of 0.25 s of runs that take less than 5 s. The beginning \
before the first and the time after the last byte are not in it, so not what rsync still has to \
write to the disk then.
- rsync: a daemon, whole files, nothing compressed. cp: `cp -r --reflink=never`, one process, no \
network. fio: as many bytes as the files have, in blocks of 1 MiB, four files at a time, through \
the page cache, synced at the end. iperf3: four connections for a second.
";

/// The whole report, with the charts that lie beside it.
pub fn render(report: &Report, charts: &[Chart]) -> String {
    let mut text = heading(report) + "\n## Targets\n\n" + &targets(&report.targets);
    for chart in charts {
        text += &format!("\n![{}]({}.svg)\n", chart.title, chart.name);
    }
    for case in &report.cases {
        text += &one(&format!("Values of {} B", case.holds.value_bytes), case);
    }
    if !report.settings.is_empty() {
        text += &settings(&report.settings);
    }
    if let Some(long) = &report.long {
        text += &one("A larger database", long);
    }
    text + "\n## How it was measured\n\n" + METHOD
}

fn heading(report: &Report) -> String {
    let machine = &report.machine;
    let quick = if report.quick {
        "\n**A quick run: too short to be quoted.**\n"
    } else {
        ""
    };
    let revision = report.revision.as_deref().unwrap_or("unknown");
    let mut text = format!(
        "# Copying a database (paper 000)\n{quick}\n\
         - Date: {}; took {:.0} s\n- Command: `{}`\n- Machine: {}\n- System: {}, kernel {}\n\
         - Programs: {}\n- Revision: {revision}\n\
         - Each source: {:.2} GB of keys and values; {} runs of each way\n",
        report.date_utc,
        report.wall_s,
        report.command_line,
        machine.line("sources and targets"),
        machine.system,
        machine.kernel,
        report.programs.line(),
        report.plan.size_bytes as f64 / 1e9,
        report.plan.repeats,
    );
    let runs = report.cases.iter().chain(&report.long);
    let runs = runs.flat_map(|case| &case.ways);
    let other = Spread::of(runs.flat_map(|copies| {
        let runs = copies.taken.runs.iter();
        runs.map(|run| run.other_cpu_share)
    }));
    text += &format!(
        "- CPU time that neither side used, kernel and others: {} (median), {} at most{}\n",
        percent(other.median),
        percent(other.max),
        if other.median > DISTURBED {
            ": **disturbed**"
        } else {
            ""
        }
    );
    text
}

const HEAD: [&str; 8] = [
    "MB/s",
    "sender CPU s/GB",
    "receiver CPU s/GB",
    "sender MB",
    "receiver MB",
    "rate varies by",
    "samples of",
    "sync after",
];

fn one(title: &str, case: &Case) -> String {
    let holds = &case.holds;
    let mut head = vec!["way"];
    head.extend(HEAD);
    head.push("over rsync");
    let mut table = Table::new(&head);
    for copies in &case.ways {
        let mut row = vec![copies.way.name().to_owned()];
        row.extend(numbers(&copies.taken));
        let ratio = case.ratio(copies.way, Way::Rsync);
        row.push(ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)));
        table.row(row);
    }
    for bounded in &case.bounds {
        let name = bounded.bound.name().to_owned();
        table.row(vec![name, mb_per_s(bounded.bytes_per_s)]);
    }
    let carried = if case
        .bounds
        .iter()
        .any(|bounded| bounded.bound == Bound::Disk)
    {
        " The disk alone is by bytes of files."
    } else {
        ""
    };
    format!(
        "\n## {title}\n\n{} pairs with values of {} B, {:.3} GB of keys and values in {:.3} GB of files.{carried}\n\n{}",
        holds.pairs,
        holds.value_bytes,
        holds.bytes as f64 / 1e9,
        holds.file_bytes as f64 / 1e9,
        table.render()
    )
}

fn settings(settings: &[Setting]) -> String {
    let mut head = vec!["mode", "connections", "tables"];
    head.extend(HEAD);
    let mut table = Table::new(&head);
    for setting in settings {
        let call = &setting.call;
        let mut row = vec![
            call.way.name().to_owned(),
            call.connections.to_string(),
            call.table_compression.name().to_owned(),
        ];
        row.extend(numbers(&setting.taken));
        table.row(row);
    }
    format!(
        "\n## Connections and compression, values of {VARIED_VALUE_BYTES} B\n\n\
         The paper used 40 threads; a connection here has a reader and a writer.\n\n{}",
        table.render()
    )
}

fn numbers(taken: &Taken) -> Vec<String> {
    let mb = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    let rates = taken.runs.iter().filter_map(|run| run.rates.as_ref());
    let mut samples: Vec<String> = rates
        .filter(|rates| rates.cv.is_some())
        .map(|rates| format!("{} s", rates.sample_s))
        .collect();
    samples.sort();
    samples.dedup();
    let sync = Spread::of(taken.runs.iter().map(|run| run.sync_s));
    vec![
        mb_per_s(taken.bytes_per_s),
        format!("{:.2}", taken.sender_cpu_s_per_gb.median),
        or_empty(
            taken
                .receiver_cpu_s_per_gb
                .map(|cpu| format!("{:.2}", cpu.median)),
        ),
        mb(taken.sender_peak_bytes),
        or_empty(taken.receiver_peak_bytes.map(mb)),
        or_empty(
            taken
                .rate_cv
                .map(|cv| format!("{:.1} %", cv.median * 100.0)),
        ),
        samples.join(", "),
        format!("{:.3} s", sync.median),
    ]
}

fn mb_per_s(rate: Spread) -> String {
    let mb = |rate: f64| rate / 1e6;
    format!(
        "{:.0} ({:.0} to {:.0})",
        mb(rate.median),
        mb(rate.min),
        mb(rate.max)
    )
}
