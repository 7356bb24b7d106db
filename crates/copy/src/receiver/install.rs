//! The last step: what has arrived becomes a database, under its final name only when it is whole.
//! Each phase can be begun again after a crash.

use std::collections::BTreeMap;
use std::fs;

use rocksdb::{IngestExternalFileOptions, Options};

use super::active::{Active, target};
use super::options;
use super::place::{self, Place, identity, remove_directory, sync_directory};
use super::remove::remove_database;
use super::state::{Phase, State};
use crate::CopyError;
use crate::plan::{Hex, Mode, Onto, Plan, Unit};
use crate::source::database::handle;
use crate::source::directory;
use crate::wire::message::Receipt;
use crate::wire::pair::Tally;

/// Makes the target whole.
pub(crate) fn finish(active: Active) -> Result<Receipt, CopyError> {
    let done = active.done();
    let missing = (0..active.plan.units.len() as u32).find(|unit| !done.contains_key(unit));
    if let Some(unit) = missing {
        return Err(CopyError::Refused(format!("unit {unit} has not arrived")));
    }
    let mut tally = Tally::default();
    done.values().for_each(|unit| tally.merge(unit));
    let Active {
        place,
        plan,
        database,
        table_options,
        lock: _held,
        ..
    } = active;
    let mut state = match State::load(&place)? {
        Some(state) => state,
        None => return Err(CopyError::Refused("no copy was begun here".to_owned())),
    };
    if let Some(database) = database {
        for name in &plan.column_families {
            let flushed = database.flush_cf(handle(&database, name)?);
            flushed.map_err(|error| CopyError::database(database.path(), &error))?;
        }
    }
    if state.phase == Phase::Receiving {
        state.phase = Phase::Installing;
        state.store(&place)?;
    }
    if state.phase == Phase::Installing {
        match plan.mode {
            Mode::Files => check_files(&place, &plan)?,
            Mode::Ingest => ingest(&place, &plan, &done, &table_options)?,
            Mode::Insert => {}
        }
    }
    if plan.onto != Onto::Merge {
        if state.phase == Phase::Installing {
            state.phase = Phase::Clearing;
            state.store(&place)?;
        }
        if state.phase == Phase::Clearing {
            place.check_unused()?;
            remove_database(&place.directory)?;
            state.phase = Phase::Moving;
            state.store(&place)?;
        }
        move_up(&place, plan.mode)?;
    }
    options::restore(&place)?;
    let receipt = receipt(&place, &plan, &tally)?;
    place.forget()?;
    Ok(receipt)
}

fn check_files(place: &Place, plan: &Plan) -> Result<(), CopyError> {
    for unit in &plan.units {
        if let Unit::Part(part) = unit {
            let path = place.database().join(&part.file);
            let found = fs::metadata(&path).map_err(|error| CopyError::io(&path, error))?;
            if found.len() != part.file_length {
                return Err(CopyError::Damaged {
                    file: path,
                    detail: format!("{} bytes, not {}", found.len(), part.file_length),
                });
            }
        }
    }
    Ok(())
}

/// Gives the finished tables to a database: a new one, or that of the target.
fn ingest(
    place: &Place,
    plan: &Plan,
    done: &BTreeMap<u32, Tally>,
    family: &Options,
) -> Result<(), CopyError> {
    let path = match plan.onto {
        Onto::Merge => place.directory.clone(),
        Onto::Empty | Onto::Replace => {
            remove_directory(&place.database())?;
            place.database()
        }
    };
    // The database takes the names it is given away; the tables stay until it has them all.
    let ingested = place.ingested();
    remove_directory(&ingested)?;
    let at = |error| CopyError::io(&ingested, error);
    fs::create_dir(&ingested).map_err(at)?;
    let database = target(&path, &plan.column_families, family)?;
    let failed = |error: rocksdb::Error| CopyError::database(&path, &error);
    for name in &plan.column_families {
        let mut tables = Vec::new();
        for (number, unit) in plan.units.iter().enumerate() {
            let Unit::Range(range) = unit else { continue };
            let is_empty = done
                .get(&(number as u32))
                .is_none_or(|tally| tally.pairs == 0);
            if range.column_family == *name && !is_empty {
                let file = format!("{number}.sst");
                let link = ingested.join(&file);
                fs::hard_link(place.tables().join(&file), &link).map_err(at)?;
                tables.push(link);
            }
        }
        if !tables.is_empty() {
            let mut options = IngestExternalFileOptions::default();
            options.set_move_files(true);
            let family = handle(&database, name)?;
            database
                .ingest_external_file_cf_opts(family, &options, tables)
                .map_err(failed)?;
        }
    }
    for name in &plan.column_families {
        database
            .flush_cf(handle(&database, name)?)
            .map_err(failed)?;
    }
    drop(database);
    sync_directory(&path)
}

/// Moves the files of the database that was built up into the target, `CURRENT` last.
fn move_up(place: &Place, mode: Mode) -> Result<(), CopyError> {
    let from = place.database();
    if !from.join("CURRENT").exists() {
        // It was all moved before a crash.
        return Ok(());
    }
    let move_one = |name: &str| {
        let to = place.directory.join(name);
        fs::rename(from.join(name), &to).map_err(|error| CopyError::io(&to, error))
    };
    for name in directory::names(&from)? {
        // Options of a database that was built here are only those of building it.
        let is_left = ["CURRENT", "LOCK"].contains(&&*name)
            || name.starts_with("LOG")
            || (name.starts_with("OPTIONS-") && mode != Mode::Files);
        if !is_left {
            move_one(&name)?;
        }
    }
    sync_directory(&place.directory)?;
    move_one("CURRENT")?;
    sync_directory(&place.directory)
}

fn receipt(place: &Place, plan: &Plan, tally: &Tally) -> Result<Receipt, CopyError> {
    let (current, manifest_bytes) = identity(&place.directory)?;
    let receipt = Receipt {
        format: crate::plan::FORMAT,
        copy_id: plan.copy_id,
        fingerprint: plan.fingerprint,
        source: plan.source.clone(),
        pairs: tally.pairs,
        bytes: tally.bytes,
        checksum: Hex(tally.checksum),
        current,
        manifest_bytes,
    };
    let path = place.receipt();
    let text = serde_json::to_vec(&receipt).map_err(|error| CopyError::io(&path, error.into()))?;
    place::replace(&path, &text)?;
    Ok(receipt)
}
