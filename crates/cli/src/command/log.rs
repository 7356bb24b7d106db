//! `dunlin log`: what is in a shard's log on disk, and what to do about damage in it.

mod find;

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use dunlin_log::disk::RealDisk;
use dunlin_log::{Report, SegmentReport, check, repair};
use dunlin_node::REFILL_FILE;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::output::Output;
use crate::units::{grouped, rounded};

const EXAMPLES: &str = "\
DIR is a node's data directory or the log directory of one of its shards.

A torn tail is what a crash leaves: a start cuts it off by itself, nothing acknowledged is lost
under sync = always. Damage is bytes that had been synced and have changed since: a start refuses
it. `log repair` cuts the log before the damage; the node then gets what it lost from the other
replicas. The cut bytes are kept beside the log as FILE.damaged-OFFSET.

Examples:
  dunlin log check data/n1
  dunlin log repair data/n1";

/// Verbs of `log`.
#[derive(Debug, Subcommand)]
pub enum Log {
    /// Tell what is in a log and whether it is whole
    #[command(after_help = EXAMPLES)]
    Check(Directory),
    /// Cut a log before its first damage
    #[command(after_help = EXAMPLES)]
    Repair(Directory),
}

/// Arguments of both.
#[derive(Debug, Args)]
pub struct Directory {
    /// Directory of a node's data or of one log
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// One JSON object for each log
    #[arg(long)]
    json: bool,
}

impl Log {
    /// Does it. `check` fails when a start would refuse a log.
    pub fn run(self) -> Result<(), Failure> {
        let mut output = Output::new();
        let done = match &self {
            Log::Check(arguments) => check_all(arguments, &mut output),
            Log::Repair(arguments) => repair_all(arguments, &mut output),
        };
        output.flush()?;
        done
    }
}

fn check_all(arguments: &Directory, output: &mut Output) -> Result<(), Failure> {
    let mut damaged = Vec::new();
    for directory in find::logs(&arguments.directory)? {
        let report = examine(&directory)?;
        if arguments.json {
            output.json(&report_json(&directory, &report))?;
        } else {
            output.bytes(report_text(&directory, &report).as_bytes())?;
        }
        if report.is_damaged() {
            damaged.push(directory.display().to_string());
        }
    }
    match damaged.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(format!(
            "damaged: {} (dunlin log repair cuts it)",
            damaged.join(", ")
        ))),
    }
}

fn repair_all(arguments: &Directory, output: &mut Output) -> Result<(), Failure> {
    let _locks = find::homes(&arguments.directory)?
        .iter()
        .map(|home| DirectoryLock::take(home))
        .collect::<Result<Vec<_>, _>>()?;
    for directory in find::logs(&arguments.directory)? {
        let Some(plan) = examine(&directory)?.plan else {
            if arguments.json {
                output.json(&json!({ "directory": directory, "repaired": false, "kept": [] }))?;
            } else {
                output.line(format!("{}: no damage, nothing done", directory.display()))?;
            }
            continue;
        };
        mark_for_refill(&directory)?;
        let repaired = repair(&RealDisk, &directory, plan)
            .map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))?;
        if arguments.json {
            output.json(&json!({
                "directory": directory, "repaired": true, "segment": plan.segment, "cut": plan.cut,
                "kept": repaired.kept,
            }))?;
        } else {
            output.line(format!(
                "{}: cut segment {} at byte {}; what was cut is kept in {}",
                directory.display(),
                plan.segment,
                plan.cut,
                repaired.kept.join(", ")
            ))?;
        }
    }
    Ok(())
}

/// A shard whose log is cut must not answer for what it lost before the other replicas gave it
/// back. Marked before the cut, so that no crash comes between.
fn mark_for_refill(directory: &Path) -> Result<(), Failure> {
    let Some(shard) = directory
        .parent()
        .filter(|shard| shard.join("store").is_dir())
    else {
        return Ok(()); // a log by itself
    };
    let mark = shard.join(REFILL_FILE);
    File::create(&mark)
        .and_then(|file| file.sync_all())
        .and_then(|()| File::open(shard)?.sync_all())
        .map_err(|error| Failure::Failed(format!("{}: {error}", mark.display())))
}

fn examine(directory: &Path) -> Result<Report, Failure> {
    check(&RealDisk, directory)
        .map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))
}

fn report_text(directory: &Path, report: &Report) -> String {
    let total = |field: fn(&SegmentReport) -> u64| report.segments.iter().map(field).sum::<u64>();
    let mut text = format!(
        "{}: {} segments, {} records, {} payload, {} padding\n",
        directory.display(),
        report.segments.len(),
        grouped(total(|segment| segment.records)),
        rounded(total(|segment| segment.payload_bytes) as f64),
        rounded(total(|segment| segment.padding_bytes) as f64),
    );
    for segment in &report.segments {
        let Some(trouble) = &segment.trouble else {
            continue;
        };
        let (kind, why) = match &trouble.damage {
            Some(proof) => ("damage", format!(" ({proof})")),
            None => ("torn tail, cut at the next start", String::new()),
        };
        text.push_str(&format!(
            "  {} at byte {}: {kind}: {}{why}\n",
            segment.file, trouble.offset, trouble.reason
        ));
    }
    text
}

fn report_json(directory: &Path, report: &Report) -> Value {
    let segments: Vec<Value> = report
        .segments
        .iter()
        .map(|segment| {
            json!({
                "file": segment.file,
                "first_index": segment.first_index,
                "records": segment.records,
                "payload_bytes": segment.payload_bytes,
                "bytes": segment.bytes,
                "padding_bytes": segment.padding_bytes,
                "file_bytes": segment.file_bytes,
                "trouble": segment.trouble.as_ref().map(|trouble| json!({
                    "offset": trouble.offset,
                    "cut": trouble.cut,
                    "cut_bytes": trouble.cut_bytes,
                    "reason": trouble.reason,
                    "damage": trouble.damage,
                })),
            })
        })
        .collect();
    json!({ "directory": directory, "damaged": report.is_damaged(), "segments": segments })
}
