//! `dunlin log dump`: the records of log files, one line each.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use dunlin_log::inspect::{Event, Inspector};
use serde_json::json;

use super::{Reading, row, settings, source};
use crate::failure::Failure;
use crate::output::Output;

/// Arguments.
#[derive(Debug, Args)]
pub struct Dump {
    /// Log files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Also list the pieces that records are in, and padding
    #[arg(long)]
    physical: bool,
    /// Stop after this many records of each file
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    reading: Reading,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Lists file after file.
pub fn run(arguments: &Dump, output: &mut Output) -> Result<(), Failure> {
    arguments
        .files
        .iter()
        .try_for_each(|file| dump(file, arguments, output))
}

fn dump(file: &Path, arguments: &Dump, output: &mut Output) -> Result<(), Failure> {
    let mut inspector = source::open(file, &arguments.reading)?;
    let dunlin = inspector.is_dunlin();
    let layout = inspector.layout();
    if arguments.json {
        output.json(&json!({
            "event": "file", "file": file, "form": if dunlin { "dunlin" } else { "rocksdb" },
            "block_size_bytes": layout.block_size_bytes, "number": layout.number,
            "settings": settings::json(layout.settings.as_ref()),
        }))?
    } else {
        let described = source::described(layout, dunlin);
        output.line(format!("{}: {described}", file.display()))?;
        output.line(row::headings())?;
    }
    let (mut last, mut records) = (None, 0);
    while arguments.limit.is_none_or(|limit| records < limit) {
        let event = inspector
            .next_event()
            .map_err(|error| Failure::file(file, &error))?;
        let physical = arguments.physical;
        if arguments.json {
            let row = row::json(&event, inspector.payload(), last.as_ref(), physical, dunlin);
            row.map_or(Ok(()), |row| output.json(&row))?;
        } else {
            let line = match &event {
                Event::Record(record) => Some(row::record(record, inspector.payload(), dunlin)),
                _ => row::other(&event, last.as_ref(), physical, dunlin),
            };
            line.map_or(Ok(()), |line| output.line(line))?;
        }
        match event {
            Event::Physical(physical) => last = Some(physical),
            Event::Record(record) if record.code.is_batch(dunlin) => {
                let left = arguments.limit.map(|limit| limit - records);
                records += batched(record.offset, &inspector, left, arguments.json, output)?;
            }
            Event::Record(_) => records += 1,
            Event::End(_) => break,
            _ => {}
        }
    }
    Ok(())
}

/// Lists the records in the batch at `offset`, no more than `limit`, and tells how many.
fn batched(
    offset: u64,
    inspector: &Inspector<File>,
    limit: Option<u64>,
    json: bool,
    output: &mut Output,
) -> Result<u64, Failure> {
    let mut listed = 0;
    for payload in inspector.batched() {
        if limit.is_some_and(|limit| listed >= limit) {
            break;
        }
        listed += 1;
        if json {
            output.json(&row::batched_json(offset, listed, payload))?
        } else {
            output.line(row::batched(offset, payload))?
        }
    }
    Ok(listed)
}
