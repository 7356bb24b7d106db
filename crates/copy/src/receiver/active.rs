//! A copy under way.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rocksdb::{ColumnFamilyDescriptor, DB, Options};

use super::options;
use super::place::{self, Place};
use super::remove::remove_database;
use super::state::{Journal, Phase, State};
use crate::CopyError;
use crate::plan::{Mode, Onto, Plan};
use crate::source::{database, directory};
use crate::wire::codec::Compression;
use crate::wire::message::Holds;
use crate::wire::pair::Tally;

/// A copy whose units are being received.
pub(crate) struct Active {
    /// Where.
    pub place: Place,
    /// What.
    pub plan: Plan,
    /// Options of the tables that are written here.
    pub table_options: Options,
    /// The database that pairs are inserted into.
    pub database: Option<DB>,
    /// Numbers unfinished files, so that two attempts at a unit never share one.
    attempts: AtomicU64,
    journal: Mutex<Journal>,
    /// Keeps other processes away.
    pub lock: File,
}

impl Active {
    /// Begins a copy, or goes on with it when it is the one that the target is part of.
    pub fn open(place: &Place, plan: Plan) -> Result<Active, CopyError> {
        if let Some(fault) = plan.fault() {
            return Err(CopyError::Refused(fault));
        }
        let begun = State::load(place).unwrap_or_default();
        if begun.is_some_and(|state| state.plan.copy_id == plan.copy_id) {
            return Active::resume(place);
        }
        check(place, &plan)?;
        let lock = place.lock()?;
        clear(place)?;
        for path in [place.tables(), place.database()] {
            fs::create_dir_all(&path).map_err(|error| CopyError::io(&path, error))?;
        }
        options::keep(place, &plan)?;
        let state = State {
            phase: Phase::Receiving,
            plan,
        };
        state.store(place)?;
        Active::with(place, state, lock)
    }

    /// Goes on with the copy that the target is part of.
    pub fn resume(place: &Place) -> Result<Active, CopyError> {
        let lock = place.lock()?;
        match State::load(place)? {
            Some(state) => Active::with(place, state, lock),
            None => Err(CopyError::Refused("no copy was begun here".to_owned())),
        }
    }

    fn with(place: &Place, state: State, lock: File) -> Result<Active, CopyError> {
        remove_unfinished(&place.tables())?;
        let journal = Journal::open(place)?;
        let plan = state.plan;
        let is_filled = plan.mode == Mode::Insert && state.phase == Phase::Receiving;
        let table_options = table_options(plan.table_compression);
        let database = is_filled.then(|| insertable(place, &plan, &table_options));
        let database = database.transpose()?;
        Ok(Active {
            table_options,
            place: place.clone(),
            plan,
            database,
            attempts: AtomicU64::new(0),
            journal: Mutex::new(journal),
            lock,
        })
    }

    /// The units that are on disk.
    pub fn done(&self) -> BTreeMap<u32, Tally> {
        self.journal().done().clone()
    }

    /// Notes a unit that is on disk.
    pub fn note(&self, unit: u32, tally: Tally) -> Result<(), CopyError> {
        let mut journal = self.journal();
        if journal.done().contains_key(&unit) {
            return Ok(());
        }
        journal.add(&self.place, unit, tally)
    }

    /// A number for an unfinished file.
    pub fn attempt(&self) -> u64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a target that the plan does not allow for.
fn check(place: &Place, plan: &Plan) -> Result<(), CopyError> {
    let shown = place.directory.display();
    match (place.holds()?, plan.onto) {
        (Holds::Nothing, _) => Ok(()),
        (Holds::Database, Onto::Empty) => Err(CopyError::Refused(format!(
            "{shown} holds a database; --merge adds to it, --replace removes it"
        ))),
        (Holds::Database, Onto::Replace) => place.check_unused(),
        (Holds::Database, Onto::Merge) => {
            place.check_unused()?;
            // Whether it can be opened is better known now than when everything has arrived.
            drop(super::digest::open(&place.directory)?);
            Ok(())
        }
        (Holds::Other, _) if is_begun(place)? => Ok(()),
        (Holds::Other, _) => Err(CopyError::Refused(format!(
            "{shown} is not empty and not a database; name another directory"
        ))),
    }
}

/// Whether the files without a `CURRENT` are those of a copy that was about to become whole.
fn is_begun(place: &Place) -> Result<bool, CopyError> {
    let state = State::load(place).unwrap_or_default();
    let names = directory::names(&place.directory)?;
    let foreign =
        |name: &String| !name.starts_with("dunlin-copy") && !directory::is_of_database(name);
    Ok(!names.iter().any(foreign)
        && state.is_some_and(|state| matches!(state.phase, Phase::Clearing | Phase::Moving)))
}

/// Removes what another copy left.
fn clear(place: &Place) -> Result<(), CopyError> {
    if place.holds()? == Holds::Other {
        remove_database(&place.directory)?;
    }
    // The plan goes first: without it nothing of the rest counts.
    for path in [place.plan(), place.done()] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CopyError::io(&path, error));
            }
            _ => {}
        }
    }
    place::sync_directory(&place.partial())?;
    for path in [place.tables(), place.ingested(), place.database()] {
        place::remove_directory(&path)?;
    }
    Ok(())
}

fn remove_unfinished(tables: &Path) -> Result<(), CopyError> {
    if !tables.exists() {
        return Ok(());
    }
    for name in directory::names(tables)? {
        if name.ends_with(".tmp") {
            let path = tables.join(name);
            fs::remove_file(&path).map_err(|error| CopyError::io(&path, error))?;
        }
    }
    Ok(())
}

/// Options of tables written here.
fn table_options(compression: Compression) -> Options {
    let (_, mut family) = database::options();
    family.set_compression_type(match compression {
        Compression::None => rocksdb::DBCompressionType::None,
        Compression::Lz4 => rocksdb::DBCompressionType::Lz4,
        Compression::Zstd => rocksdb::DBCompressionType::Zstd,
    });
    let mut table = rocksdb::BlockBasedOptions::default();
    table.set_block_size(16 << 10);
    table.set_format_version(database::TABLE_FORMAT_VERSION);
    family.set_block_based_table_factory(&table);
    family
}

/// Opens, or makes, a database with at least these column families.
pub(crate) fn target(
    path: &Path,
    column_families: &[String],
    family: &Options,
) -> Result<DB, CopyError> {
    let failed = |error: rocksdb::Error| CopyError::database(path, &error);
    let (mut options, _) = database::options();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let mut names = if path.join("CURRENT").exists() {
        DB::list_cf(&options, path).map_err(failed)?
    } else {
        vec!["default".to_owned()]
    };
    for name in column_families {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let families = names
        .iter()
        .map(|name| ColumnFamilyDescriptor::new(name, family.clone()));
    DB::open_cf_descriptors(&options, path, families).map_err(failed)
}

/// The database that pairs are inserted into.
fn insertable(place: &Place, plan: &Plan, family: &Options) -> Result<DB, CopyError> {
    let path = match plan.onto {
        Onto::Merge => place.directory.clone(),
        Onto::Empty | Onto::Replace => place.database(),
    };
    let mut family = family.clone();
    // Who inserts leaves tables that overlap: they are put in order as they come, as anywhere else.
    family.set_disable_auto_compactions(false);
    target(&path, &plan.column_families, &family)
}
