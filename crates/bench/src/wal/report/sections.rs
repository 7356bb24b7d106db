//! The tables of the report, for Markdown and HTML alike.

use super::model::Report;
use crate::interval::Interval;
use crate::report::summary::target_table;
use crate::report::table::Table;
use crate::wal::cell::{Cell, PaperForm, Side};
use crate::wal::grid::block_name;

/// A heading with what belongs under it.
#[derive(Debug, Clone)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// Paragraphs before the table, without markup.
    pub notes: Vec<String>,
    /// The table.
    pub table: Option<Table>,
}

impl Section {
    fn new(title: impl Into<String>, notes: &[&str], table: Option<Table>) -> Section {
        Section {
            title: title.into(),
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
            table,
        }
    }
}

/// What precedes all sections, line by line.
pub fn heading(report: &Report) -> Vec<String> {
    let machine = &report.machine;
    let plan = &report.plan;
    let mut lines = vec![
        format!("Date: {}; took {:.0} s", report.date_utc, report.wall_s),
        format!("Command: {}", report.command_line),
        format!("Machine: {}", machine.line("logs")),
        format!("System: {}, kernel {}", machine.system, machine.kernel),
        format!(
            "Each cell: {} entries for bytes and recovery; {} timed pairs of runs of as many, or \
             of {:.0} MB when that is less; {} random cuts",
            plan.entries,
            plan.repeats,
            plan.timed_bytes_max as f64 / 1e6,
            plan.cuts
        ),
    ];
    if let Some(revision) = &report.revision {
        lines.push(format!("Revision: {revision}"));
    }
    if report.quick {
        lines.insert(0, "A quick run: too short to be quoted.".into());
    }
    lines
}

/// All tables, in the order of the page.
pub fn of(report: &Report) -> Vec<Section> {
    let mut sections = vec![Section::new(
        "Targets",
        &[],
        Some(target_table(&report.targets)),
    )];
    sections.extend(rival(report));
    sections.extend(device(report));
    sections.extend(read(report));
    for experiment in &report.causes {
        let mut table = Table::new(&["variant", experiment.unit, "median", "minus the first"]);
        for row in &experiment.rows {
            table.row(vec![
                row.variant.clone(),
                plain(&row.cost, 1),
                format!("{:.1}", row.cost.median),
                row.difference
                    .as_ref()
                    .map_or(String::new(), |difference| signed(difference, 1)),
            ]);
        }
        sections.push(Section::new(
            format!("Experiment: {}", experiment.name),
            &[&experiment.question],
            Some(table),
        ));
    }
    for block_bytes in report.block_sizes() {
        let cells = report.cells_of(block_bytes);
        let name = block_name(block_bytes);
        sections.push(Section::new(
            format!("Blocks of {name}: speed"),
            &[],
            Some(speed(&cells)),
        ));
        sections.push(Section::new(
            format!("Blocks of {name}: bytes"),
            &[],
            Some(bytes(&cells)),
        ));
        if cells.iter().any(|cell| cell.paper.is_some()) {
            sections.push(Section::new(
                format!("Blocks of {name}: the paper's own form"),
                &[],
                Some(paper(&cells)),
            ));
        }
    }
    sections.push(Section::new("How it was measured", &METHOD, None));
    sections
}

const METHOD: [&str; 9] = [
    "Six writers are six tasks on one event loop, as in the store: each appends its next entry \
     when the last one is written; what is accepted meanwhile makes the next group, with one \
     write. Nothing is synced in the grid.",
    "An entry is the write batch that RocksDB logs for a put of that key and value (12 bytes of \
     header, a tag, two length varints, key, value), with random contents. Dunlin's records have \
     headers of 11 bytes; its segment begins with a header and an empty preamble and, once \
     closed, ends with a sync mark; a padded block ends with a pad record of 11 bytes and zeros.",
    "Padding: formula is the paper's, for one block and the legacy header; bytes are those of the \
     whole log (block tails, pad records, zeros), computed beforehand and counted again in the \
     file. A run in which the two differ by one byte ends with an error.",
    "Differences are of pairs of runs, one after the other, of which each policy begins every \
     other time; ± is half the 95 % confidence interval of the mean by Student's t. Gray bars and \
     differences smaller than their ± tell nothing.",
    "CPU is that of the whole process: log, writers, making of entries. Write amplification is \
     bytes of the file over bytes of keys and values. Recovery is one opening of the closed log \
     of all entries, from the page cache.",
    "Lost: a log of six blocks or more is cut at random bytes, opened, and what is not recovered \
     is counted; torn is the share of cuts at which an entry had been begun. Where exactly each \
     log must end is known, and checked.",
    "Padding never splits a record that fits in a block and leaves larger ones alone; there both \
     policies write the same bytes. The paper's patch pads before those, too, and forgets the \
     record's header when it looks whether a record fits.",
    "The paper's own form: legacy headers in a plain file, one writer, one write a record, stock \
     against the patch. RocksDB itself joins the batches of waiting writers into one record, so \
     that with six threads its padding is not that of single records.",
    "The experiments run in rounds: every variant once, in the other direction each time; the \
     first round is not counted.",
];

fn speed(cells: &[&Cell]) -> Table {
    let mut table = Table::new(&[
        "entry",
        "padding, formula",
        "fragment us",
        "pad us",
        "pad - fragment us",
        "fragment /s",
        "pad /s",
        "CPU us",
        "CPU us, pad",
        "recovery ms",
        "recovery ms, pad",
        "lost",
        "lost, pad",
        "torn",
        "torn, pad",
    ]);
    for cell in cells {
        let (fragment, pad) = (&cell.fragment, &cell.pad);
        let mut row = vec![
            cell.entry.name(),
            cell.padding_bytes_paper.to_string(),
            plain(&fragment.latency_us, 2),
            plain(&pad.latency_us, 2),
            signed(&cell.difference_us, 2),
        ];
        let mut both = |of: &dyn Fn(&Side) -> String| {
            row.push(of(fragment));
            row.push(of(pad));
        };
        both(&|side| format!("{:.0}", side.entries_per_s.mean));
        both(&|side| format!("{:.2}", side.cpu_us.mean));
        both(&|side| format!("{:.1}", side.recovery_ms));
        both(&|side| {
            format!(
                "{:.1} of {}",
                side.lost.entries_lost_mean, side.lost.entries
            )
        });
        both(&|side| format!("{:.2}", side.lost.entries_torn_mean));
        table.row(row);
    }
    table
}

fn bytes(cells: &[&Cell]) -> Table {
    let mut table = Table::new(&[
        "entry",
        "record",
        "padding, formula",
        "padding bytes",
        "measured",
        "padding bytes, pad",
        "measured, pad",
        "fragments",
        "fragments, pad",
        "split",
        "split, pad",
        "write amplification",
        "pad",
    ]);
    for cell in cells {
        let (fragment, pad) = (&cell.fragment, &cell.pad);
        let mut row = vec![
            cell.entry.name(),
            cell.record_bytes_paper.to_string(),
            cell.padding_bytes_paper.to_string(),
        ];
        for side in [fragment, pad] {
            row.push(side.predicted.padding_bytes.to_string());
            row.push(side.measured.padding_bytes.to_string());
        }
        for of in [
            |side: &Side| side.measured.fragments.to_string(),
            |side: &Side| side.measured.records_split.to_string(),
            |side: &Side| format!("{:.3}", side.write_amplification),
        ] {
            row.push(of(fragment));
            row.push(of(pad));
        }
        table.row(row);
    }
    table
}

fn paper(cells: &[&Cell]) -> Table {
    let mut table = Table::new(&[
        "entry",
        "padding a block, formula",
        "measured",
        "stock us",
        "patch us",
        "patch - stock us",
        "fragments",
        "fragments, patch",
        "padding bytes",
        "padding bytes, patch",
    ]);
    let forms = cells
        .iter()
        .filter_map(|cell| Some((cell, cell.paper.as_ref()?)));
    for (cell, form) in forms {
        let PaperForm {
            fragment, patch, ..
        } = form;
        table.row(vec![
            cell.entry.name(),
            cell.padding_bytes_paper.to_string(),
            format!("{:.1}", form.padding_bytes_a_block),
            plain(&form.fragment_us, 2),
            plain(&form.patch_us, 2),
            signed(&form.difference_us, 2),
            fragment.fragments.to_string(),
            patch.fragments.to_string(),
            fragment.padding_bytes.to_string(),
            patch.padding_bytes.to_string(),
        ]);
    }
    table
}

fn rival(report: &Report) -> Option<Section> {
    let rival = report.rival.as_ref()?;
    let mut table = Table::new(&[
        "sync",
        "entries",
        "Dunlin's log /s",
        "RocksDB /s",
        "log off /s",
        "without memtable, us",
        "ratio to that",
        "writing its log, us",
        "log on minus off, us",
        "ratio to that",
        "ratio to whole",
        "CPU us",
        "RocksDB CPU us",
        "log off CPU us",
        "its log alone, CPU us",
        "CPU ratio",
    ]);
    for row in &rival.rows {
        table.row(vec![
            if row.sync { "every write" } else { "never" }.into(),
            row.entries.to_string(),
            plain(&row.ours_per_s, 0),
            plain(&row.with_log_per_s, 0),
            plain(&row.without_log_per_s, 0),
            plain(&row.path_us, 2),
            plain(&row.ratio_path, 2),
            plain(&row.wal_us, 2),
            plain(&row.log_us, 2),
            plain(&row.ratio_log, 2),
            plain(&row.ratio_whole, 2),
            plain(&row.ours_cpu_us, 2),
            plain(&row.with_log_cpu_us, 2),
            plain(&row.without_log_cpu_us, 2),
            plain(&row.log_cpu_us, 2),
            plain(&row.ratio_cpu, 2),
        ]);
    }
    let what = format!(
        "{}, fillrandom, six threads, {}, no compression, a write buffer that is never flushed; \
         Dunlin's log with its defaults, six tasks on one event loop. In turns.",
        rival.version,
        rival.entry.name()
    );
    let mut notes = vec![
        what.as_str(),
        "RocksDB's threads compete for the cores and wait for each other by spinning and \
         condition variables; its leader joins the waiting batches into one record and one write. \
         Dunlin's tasks share one thread; a group is one write of a record each. Both make random \
         keys and values meanwhile. Each run of RocksDB also fills its memtable, which Dunlin's \
         log has not; so it is also run taking the time of its own steps (--perf_level=3), of which \
         that in the memtable is taken out as if no two threads were ever in it at once; the ratio \
         is Dunlin's speed over what is left: joining a group, writing the log, waking the others. \
         By the same clock only a part of that is writing the log, by one thread for all that \
         wait. It is also run with its log off; the difference, in time and in CPU, cancels start \
         and end of the process, but is small beside the memtable and its noise.",
    ];
    if rival.assertions {
        notes.push(
            "This db_bench warns that it was built with assertions, which make it slower than \
             RocksDB need be: the ratios flatter Dunlin.",
        );
    }
    Some(Section::new(
        "Beside RocksDB's own log",
        &notes,
        Some(table),
    ))
}

fn device(report: &Report) -> Option<Section> {
    let device = report.device.as_ref()?;
    let mut table = Table::new(&[
        "what",
        "per second",
        "over bare writes",
        "mean us",
        "over bare write",
        "entries a sync",
    ]);
    for bare in &device.bare {
        table.row(vec![
            bare.name.clone(),
            plain(&bare.per_s, 0),
            String::new(),
            plain(&bare.latency_us, 1),
        ]);
    }
    for row in &device.rows {
        let plural = if row.writers == 1 {
            "writer"
        } else {
            "writers"
        };
        table.row(vec![
            format!("log, {} {plural}", row.writers),
            plain(&row.entries_per_s, 0),
            plain(&row.ratio, 2),
            plain(&row.latency_us, 1),
            plain(&row.ratio_latency, 2),
            plain(&row.entries_a_sync, 1),
        ]);
    }
    let what = format!(
        "One thread that writes and calls fdatasync, without a log; then the log, with a sync \
         before every answer, on recycled segments. In turns. Ratios are to writes of a record \
         ({} bytes) over bytes that exist.",
        device.record_bytes
    );
    Some(Section::new("Beside the disk", &[&what], Some(table)))
}

fn read(report: &Report) -> Option<Section> {
    let mut table = Table::new(&[
        "entry",
        "GB",
        "entries",
        "recovery GB/s",
        "per CPU second",
        "cursor GB/s",
        "per CPU second",
    ]);
    for read in &report.read {
        table.row(vec![
            read.entry.name(),
            format!("{:.2}", read.bytes as f64 / 1e9),
            read.entries.to_string(),
            plain(&read.recovery_gb_per_s, 2),
            plain(&read.recovery_gb_per_cpu_s, 2),
            plain(&read.cursor_gb_per_s, 2),
            plain(&read.cursor_gb_per_cpu_s, 2),
        ]);
    }
    let note = "A closed log in the page cache: opened, then read by a cursor from its first \
                record to its last. Log and reader alternate, so that one core is enough.";
    (!report.read.is_empty()).then(|| Section::new("Reading back", &[note], Some(table)))
}

/// `1.23 ± 0.04`, or the mean alone when there is no interval.
pub fn plain(interval: &Interval, digits: usize) -> String {
    let mean = format!("{:.digits$}", interval.mean);
    match interval.ci95 {
        Some(half) => format!("{mean} ± {half:.digits$}"),
        None => mean,
    }
}

/// The same with a sign, for differences.
pub fn signed(interval: &Interval, digits: usize) -> String {
    let text = plain(interval, digits);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
}
