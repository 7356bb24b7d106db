//! `dunlin log stat`: records, padding, fragments and write amplification.

use std::path::{Path, PathBuf};

use dunlin_log::inspect::{Stat, Verdict};
use serde_json::{Value, json};

use super::compressed::Compressed;
use super::{Paths, find, find::Target, row, settings, source};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::table::{Align, Cell, Colour, Table};
use crate::units::{grouped, rounded};

/// Adds up every file, and all of them.
pub fn run(arguments: &Paths, output: &mut Output) -> Result<(), Failure> {
    let mut files: Vec<(PathBuf, Stat)> = Vec::new();
    let mut sum = Stat::default();
    for path in &arguments.paths {
        for (file, may_be_empty) in files_of(path)? {
            let stat = source::stat(&file, &arguments.reading, may_be_empty)?;
            sum.absorb(&stat);
            files.push((file, stat));
        }
    }
    if arguments.json {
        let each: Vec<Value> = files
            .iter()
            .map(|(file, stat)| file_json(file, stat))
            .collect();
        return output.json(&json!({ "files": each, "sum": stat_json(&sum) }));
    }
    let mut table = table();
    for (file, stat) in &files {
        table.row(cells(file.display().to_string(), stat));
    }
    if files.len() > 1 {
        table.row(cells("sum".to_owned(), &sum));
    }
    output.bytes(table.render(output::coloured()).as_bytes())?;
    let begun_with = files.iter().filter_map(|(_, stat)| stat.settings);
    output.bytes(settings::summary(begun_with).as_bytes())?;
    output.bytes(details(&sum).as_bytes())
}

/// The log files of a path, and whether RocksDB may have left one empty.
fn files_of(path: &Path) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let mut files = Vec::new();
    for target in find::targets(path)? {
        match target {
            Target::File(file) => files.push((file, false)),
            Target::RocksDb(file) => files.push((file, true)),
            Target::Log(directory) => {
                files.extend(
                    find::segments(&directory)?
                        .into_iter()
                        .map(|file| (file, true)),
                );
            }
        }
    }
    Ok(files)
}

fn table() -> Table {
    let number = |name| (name, Align::Right);
    Table::new(&[
        ("FILE", Align::Left),
        ("STATE", Align::Left),
        number("RECORDS"),
        number("USED"),
        number("PAYLOAD"),
        number("HEADERS"),
        number("TAILS"),
        number("PADDING"),
        number("OWN"),
        number("SPLIT"),
        number("WRITTEN"),
    ])
}

fn cells(name: String, stat: &Stat) -> Vec<Cell> {
    let state = stat.verdict().name();
    vec![
        Cell::plain(name),
        match stat.verdict() {
            Verdict::Whole => Cell::plain(state),
            Verdict::Torn => Cell::coloured(state, Colour::Yellow),
            Verdict::Damaged => Cell::coloured(state, Colour::Red),
        },
        Cell::plain(grouped(stat.records)),
        Cell::plain(grouped(stat.used_bytes)),
        Cell::plain(grouped(stat.payload_bytes)),
        Cell::plain(grouped(stat.header_bytes)),
        Cell::plain(grouped(stat.tail_bytes)),
        Cell::plain(grouped(stat.padded_bytes)),
        Cell::plain(grouped(stat.own_bytes)),
        Cell::plain(format!("{:.2} %", 100.0 * stat.fragmented_share())),
        Cell::plain(times(stat.write_amplification())),
    ]
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"))
}

/// What has no column.
fn details(stat: &Stat) -> String {
    let [one, two, three, more] = stat.fragments.map(grouped);
    // A batch is split as a record is.
    let what = match stat.compressed_batches {
        0 => "records",
        _ => "records and batches",
    };
    let mut text = format!(
        "{what} in pieces: {one} in 1, {two} in 2, {three} in 3, {more} in 4 or more; {} blocks, {} unused\n",
        grouped(stat.blocks),
        rounded(stat.unused_bytes as f64)
    );
    let batches = stat.batches;
    if batches.batches > 0 {
        let written = stat.user_amplification().map_or(String::new(), |ratio| {
            format!("; written {ratio:.4} for each byte of them")
        });
        text.push_str(&format!(
            "write batches: {} with {} operations, {} keys, {} values{written}\n",
            grouped(batches.batches),
            grouped(batches.operations),
            rounded(batches.key_bytes as f64),
            rounded(batches.value_bytes as f64),
        ));
    }
    if let Some(line) = Compressed::from(stat).text() {
        text.push_str(&line);
    }
    if stat.compressed_records > 0 {
        text.push_str(&format!(
            "compressed by RocksDB: {} records, not decoded\n",
            grouped(stat.compressed_records)
        ));
    }
    if stat.damage_count > 0 {
        text.push_str(&format!(
            "damage: {} places, {} at a torn end; {} skipped, {} of pieces without a record\n",
            grouped(stat.damage_count),
            grouped(stat.torn_count),
            rounded(stat.skipped_bytes as f64),
            rounded(stat.stray_bytes as f64)
        ));
    }
    text
}

fn file_json(file: &Path, stat: &Stat) -> Value {
    let mut value = stat_json(stat);
    if let Value::Object(object) = &mut value {
        object.insert("file".to_owned(), json!(file));
        let settings = settings::json(stat.settings.as_ref());
        object.insert("settings".to_owned(), settings);
        let damages: Vec<Value> = stat.damages.iter().map(row::damage_json).collect();
        object.insert("damages".to_owned(), damages.into());
    }
    value
}

fn stat_json(stat: &Stat) -> Value {
    let mut value = json!({
        "verdict": stat.verdict().name(),
        "records": stat.records,
        "payload_bytes": stat.payload_bytes,
        "header_bytes": stat.header_bytes,
        "tail_bytes": stat.tail_bytes,
        "padded_bytes": stat.padded_bytes,
        "own_records": stat.own_records,
        "own_bytes": stat.own_bytes,
        "stray_bytes": stat.stray_bytes,
        "skipped_bytes": stat.skipped_bytes,
        "used_bytes": stat.used_bytes,
        "unused_bytes": stat.unused_bytes,
        "blocks": stat.blocks,
        "fragments": stat.fragments,
        "fragmented_share": stat.fragmented_share(),
        "compressed_records": stat.compressed_records,
        "write_batches": stat.batches.batches,
        "operations": stat.batches.operations,
        "key_bytes": stat.batches.key_bytes,
        "value_bytes": stat.batches.value_bytes,
        "write_amplification": stat.write_amplification(),
        "user_amplification": stat.user_amplification(),
        "damage_count": stat.damage_count,
        "torn_count": stat.torn_count,
    });
    if let Value::Object(object) = &mut value {
        Compressed::from(stat).json(object);
    }
    value
}
