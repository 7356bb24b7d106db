//! `dunlin log check`: what is in logs, and whether they are whole.

use std::path::Path;

use dunlin_log::disk::RealDisk;
use dunlin_log::inspect::{Stat, Verdict};
use dunlin_log::{Report, check};
use serde_json::{Value, json};

use super::compressed::Compressed;
use super::{Paths, find, find::Target, report, row, settings, source};
use crate::failure::Failure;
use crate::output::Output;
use crate::units::{grouped, rounded};

/// Checks every log; fails when one is damaged.
pub fn run(arguments: &Paths, output: &mut Output) -> Result<(), Failure> {
    let (mut damaged, mut repairable) = (Vec::new(), true);
    for path in &arguments.paths {
        for target in find::targets(path)? {
            let is_directory = matches!(target, Target::Log(_));
            if let Some(name) = one(&target, arguments, output)? {
                damaged.push(name);
                repairable &= is_directory;
            }
        }
    }
    let hint = if repairable {
        " (dunlin log repair cuts it)"
    } else {
        ""
    };
    if damaged.is_empty() {
        Ok(())
    } else {
        Err(Failure::Failed(format!(
            "damaged: {}{hint}",
            damaged.join(", ")
        )))
    }
}

/// The name of the log when it is damaged.
fn one(target: &Target, arguments: &Paths, output: &mut Output) -> Result<Option<String>, Failure> {
    let (path, damaged) = match target {
        Target::Log(directory) => {
            let report = examine(directory)?;
            if arguments.json {
                output.json(&report::json(directory, &report))?
            } else {
                output.bytes(report::text(directory, &report).as_bytes())?
            }
            (directory, report.is_damaged())
        }
        Target::File(file) | Target::RocksDb(file) => {
            let may_be_empty = matches!(target, Target::RocksDb(_));
            let stat = source::stat(file, &arguments.reading, may_be_empty)?;
            if arguments.json {
                output.json(&file_json(file, &stat))?
            } else {
                output.bytes(file_text(file, &stat).as_bytes())?
            }
            (file, stat.verdict() == Verdict::Damaged)
        }
    };
    Ok(damaged.then(|| path.display().to_string()))
}

/// What a start of a node would find.
pub fn examine(directory: &Path) -> Result<Report, Failure> {
    check(&RealDisk, directory)
        .map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))
}

/// A line for the file, its settings, what compression saved, and a line for each thing that is
/// wrong with it.
fn file_text(file: &Path, stat: &Stat) -> String {
    let mut text = format!(
        "{}: {}, {} records, {} payload, {} padding\n",
        file.display(),
        stat.verdict().name(),
        grouped(stat.records),
        rounded(stat.payload_bytes as f64),
        rounded((stat.tail_bytes + stat.padded_bytes) as f64),
    );
    let told = [
        stat.settings.as_ref().map(settings::text),
        Compressed::from(stat).text(),
    ];
    for line in told.iter().flatten() {
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    let torn_from = stat.damage_count - stat.torn_count;
    for (at, damage) in stat.damages.iter().enumerate() {
        let kind = if (at as u64) < torn_from {
            "damage"
        } else {
            "torn end"
        };
        let what = row::damage(damage);
        text.push_str(&format!("  at byte {}: {kind}: {what}\n", damage.offset));
    }
    let more = stat.damage_count - stat.damages.len() as u64;
    if more > 0 {
        text.push_str(&format!("  and {} more\n", grouped(more)));
    }
    text
}

fn file_json(file: &Path, stat: &Stat) -> Value {
    let damages: Vec<Value> = stat.damages.iter().map(row::damage_json).collect();
    let mut value = json!({
        "file": file, "verdict": stat.verdict().name(),
        "damaged": stat.verdict() == Verdict::Damaged,
        "records": stat.records, "payload_bytes": stat.payload_bytes,
        "padding_bytes": stat.tail_bytes + stat.padded_bytes, "bytes": stat.used_bytes,
        "file_bytes": stat.used_bytes + stat.unused_bytes,
        "settings": settings::json(stat.settings.as_ref()),
        "damages": damages, "damage_count": stat.damage_count, "torn_count": stat.torn_count,
    });
    if let Value::Object(object) = &mut value {
        Compressed::from(stat).json(object);
    }
    value
}
