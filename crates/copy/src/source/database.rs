//! The checkpoint as a database: opened once read-write, so that what only the logs held is in
//! tables, then only read.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, LiveFile, Options, ReadOptions,
};
use xxhash_rust::xxh3::Xxh3;

use super::checkpoint::{Checkpoint, OPTIONS, elsewhere};
use super::{directory, table};
use crate::CopyError;
use crate::gate::LARGE_BYTES;
use crate::plan::{Hex, Key, Mode, Range};

/// Read at once ahead of an iterator.
const READAHEAD_BYTES: usize = 2 << 20;
/// Memory for index and filter blocks, however many tables there are.
const CACHE_BYTES: usize = 32 << 20;
/// A log's content becomes a table at this size.
const WRITE_BUFFER_BYTES: usize = 16 << 20;
/// Tables made here can be read by RocksDB from 6.6 on.
pub(crate) const TABLE_FORMAT_VERSION: i32 = 5;
/// Tables open at a time.
const OPEN_FILES_MAX: i32 = 128;

/// The source, open.
pub(crate) struct Source {
    /// The database.
    pub db: DB,
    /// Its tables.
    pub files: Vec<LiveFile>,
    /// The column families to copy.
    pub column_families: Vec<String>,
    path: PathBuf,
    /// Bytes of the largest blocks of tables that were asked about.
    largest_bytes: Mutex<HashMap<String, u64>>,
}

impl Source {
    /// Opens a checkpoint of the database at `source` (a path for errors); `chosen` column
    /// families, or all when none are named. What only logs held is in tables afterwards.
    pub fn open(
        checkpoint: &mut Checkpoint,
        source: &Path,
        chosen: &[String],
    ) -> Result<Source, CopyError> {
        let opened = Source::read(checkpoint, chosen, true);
        opened.map_err(|error| elsewhere(error, source))
    }

    /// Opens it as it is, so that RocksDB reads its logs beside its tables. Who compares does not go
    /// the way of who copies.
    pub fn open_as_it_is(
        checkpoint: &mut Checkpoint,
        source: &Path,
        chosen: &[String],
    ) -> Result<Source, CopyError> {
        let opened = Source::read(checkpoint, chosen, false);
        opened.map_err(|error| elsewhere(error, source))
    }

    fn read(
        checkpoint: &mut Checkpoint,
        chosen: &[String],
        is_prepared: bool,
    ) -> Result<Source, CopyError> {
        let path = checkpoint.path.clone();
        let failed = |error: rocksdb::Error| CopyError::database(&path, &error);
        let (database, family) = options();
        let all = DB::list_cf(&database, &path).map_err(failed)?;
        if let Some(name) = chosen.iter().find(|name| !all.contains(name)) {
            return Err(CopyError::Refused(format!(
                "the source has no column family {name:?}; it has {}",
                all.join(", ")
            )));
        }
        let families = || {
            let each = all.iter().cloned();
            each.map(|name| ColumnFamilyDescriptor::new(name, family.clone()))
        };
        if is_prepared && !checkpoint.is_prepared {
            let db = DB::open_cf_descriptors(&database, &path, families()).map_err(failed)?;
            for name in &all {
                db.flush_cf(handle(&db, name)?).map_err(failed)?;
            }
            drop(db);
            keep_options(&path)?;
            checkpoint.set_prepared()?;
        }
        let db = DB::open_cf_descriptors_read_only(&database, &path, families(), false);
        let db = db.map_err(failed)?;
        let mut files = db.live_files().map_err(failed)?;
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Source {
            files,
            column_families: if chosen.is_empty() {
                all
            } else {
                chosen.to_vec()
            },
            db,
            path,
            largest_bytes: Mutex::default(),
        })
    }

    /// Where one of its tables is.
    pub fn path_of(&self, file: &LiveFile) -> PathBuf {
        self.path.join(file.name.trim_start_matches('/'))
    }

    /// Whether some block that a range lies in is so large that not many should be in memory.
    pub fn is_large(&self, range: &Range) -> bool {
        let outside = |file: &LiveFile| {
            let first = file.start_key.as_deref().unwrap_or_default();
            let last = file.end_key.as_deref().unwrap_or_default();
            file.column_family_name != range.column_family
                || range
                    .end
                    .as_ref()
                    .is_some_and(|end| first >= end.0.as_slice())
                || range
                    .start
                    .as_ref()
                    .is_some_and(|start| last < start.0.as_slice())
        };
        let mut within = self.files.iter().filter(|file| !outside(file));
        within.any(|file| self.has_large_block(file))
    }

    /// Whether some block of a table is so large that not many should be in memory.
    pub fn has_large_block(&self, file: &LiveFile) -> bool {
        self.largest_bytes(&file.name) > LARGE_BYTES as u64
    }

    fn largest_bytes(&self, name: &str) -> u64 {
        let known = || {
            self.largest_bytes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(bytes) = known().get(name) {
            return *bytes;
        }
        // Whoever reads the pairs will say what is wrong with a table.
        let bytes = table::largest_block(&self.path.join(name.trim_start_matches('/')));
        let bytes = bytes.unwrap_or_default();
        known().insert(name.to_owned(), bytes);
        bytes
    }

    /// What tells this data from any other, as `docs/formats.md` section 7 says. Files made for
    /// one checkpoint do not fit another's.
    pub fn fingerprint(&self, checkpoint: &Checkpoint, mode: Mode) -> Result<Hex, CopyError> {
        let identity = self
            .db
            .get_db_identity()
            .map_err(|error| CopyError::database(&checkpoint.path, &error))?;
        let mut hash = Xxh3::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(&identity);
        add(&self.db.latest_sequence_number().to_le_bytes());
        for name in &self.column_families {
            add(name.as_bytes());
        }
        for file in &self.files {
            // Tables that opening the checkpoint made out of its logs are new each time.
            let name = file.name.trim_start_matches('/');
            if checkpoint.tables.iter().any(|table| table == name) {
                add(name.as_bytes());
                add(&(file.size as u64).to_le_bytes());
                add(&file.level.to_le_bytes());
                add(file.start_key.as_deref().unwrap_or_default());
                add(file.end_key.as_deref().unwrap_or_default());
            }
        }
        if mode == Mode::Files {
            add(&checkpoint.id.0.to_le_bytes());
        }
        Ok(Hex(hash.digest128()))
    }
}

/// Puts the source's own options, when it has any, where opening left this program's. Directories
/// named in them are the source's, so they are left out.
fn keep_options(path: &Path) -> Result<(), CopyError> {
    let at = |error| CopyError::io(path, error);
    let mut newest = None;
    for name in directory::names(path)? {
        if name.starts_with("OPTIONS-") {
            fs::remove_file(path.join(&name)).map_err(at)?;
            newest = newest.max(Some(name));
        }
    }
    if let (Some(name), Ok(text)) = (newest, fs::read_to_string(path.join(OPTIONS))) {
        let is_place = |line: &&str| {
            let line = line.trim_start();
            ["wal_dir=", "db_log_dir=", "db_paths="]
                .iter()
                .any(|key| line.starts_with(key))
        };
        let kept: Vec<&str> = text.lines().filter(|line| !is_place(line)).collect();
        fs::write(path.join(name), kept.join("\n") + "\n").map_err(at)?;
    }
    Ok(())
}

/// A column family of an open database.
pub(crate) fn handle<'a>(db: &'a DB, name: &str) -> Result<&'a rocksdb::ColumnFamily, CopyError> {
    db.cf_handle(name).ok_or_else(|| {
        CopyError::Refused(format!(
            "{} has no column family {name:?}",
            db.path().display()
        ))
    })
}

/// Options of a database that is only read in bulk, in bounded memory, and of its column families.
pub(crate) fn options() -> (Options, Options) {
    let mut database = Options::default();
    database.set_paranoid_checks(true);
    // Without this, RocksDB takes a record of a log that it cannot apply for the log's end. Logs that
    // are torn in the middle are refused before (`directory::check_log`).
    database.set_wal_recovery_mode(rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords);
    database.set_max_open_files(OPEN_FILES_MAX);
    database.set_max_file_opening_threads(2);
    database.set_skip_stats_update_on_db_open(true);
    database.set_stats_dump_period_sec(0);
    database.set_stats_persist_period_sec(0);
    database.set_keep_log_file_num(1);
    database.set_max_background_jobs(2);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    table.set_cache_index_and_filter_blocks(true);
    table.set_format_version(TABLE_FORMAT_VERSION);
    let mut family = Options::default();
    family.set_block_based_table_factory(&table);
    // What is to be read ahead is said with each read.
    let no_readahead = "block_based_table_factory={max_auto_readahead_size=0}";
    let mut family = family
        .get_options_from_string(no_readahead)
        .unwrap_or(family);
    family.set_disable_auto_compactions(true);
    family.set_write_buffer_size(WRITE_BUFFER_BYTES);
    family.set_compression_type(rocksdb::DBCompressionType::None);
    (database, family)
}

/// Reads of a range, once and in order. Blocks are read ahead unless they are large: a second
/// copy of each would be too much.
pub(crate) fn read(start: Option<&Key>, end: Option<&Key>, is_large: bool) -> ReadOptions {
    let mut read = ReadOptions::default();
    read.set_verify_checksums(true);
    read.fill_cache(false);
    read.set_total_order_seek(true);
    if !is_large {
        read.set_readahead_size(READAHEAD_BYTES);
    }
    if let Some(start) = start {
        read.set_iterate_lower_bound(start.0.clone());
    }
    if let Some(end) = end {
        read.set_iterate_upper_bound(end.0.clone());
    }
    read
}
