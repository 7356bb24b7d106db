//! `dunlin log repair`: a log is cut before its first damage.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use dunlin_log::disk::RealDisk;
use dunlin_log::repair;
use dunlin_node::{REFILL_FILE, REFILL_REPAIRED};
use serde_json::json;

use super::{Directory, check::examine, find};
use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::output::Output;

/// Repairs every log in a directory.
pub fn run(arguments: &Directory, output: &mut Output) -> Result<(), Failure> {
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
        .and_then(|mut file| {
            file.write_all(REFILL_REPAIRED.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| File::open(shard)?.sync_all())
        .map_err(|error| Failure::Failed(format!("{}: {error}", mark.display())))
}
