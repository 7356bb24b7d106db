//! A checkpoint: a second directory with the same tables, by hard links, and copies of what still
//! grows. The source itself is only read; programs may go on writing to it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::Rng;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::directory::{self, Listing};
use crate::CopyError;
use crate::plan::Hex;
use crate::receiver::place;
use crate::settings::Settings;

/// How often a checkpoint is tried while the database changes under it.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);
const ABOUT: &str = "checkpoint.json";
/// The source's own file of options: opening the checkpoint replaces it by another.
pub(crate) const OPTIONS: &str = "source-options";

/// A checkpoint on disk.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// Its directory; the database in it may be opened read-write.
    pub path: PathBuf,
    /// What distinguishes it from another checkpoint of the same database.
    pub id: Hex,
    /// Tables that are the source's own.
    pub tables: Vec<String>,
    /// Hard links were not possible: the source must not change meanwhile.
    pub is_linked_softly: bool,
    /// What only logs held is in tables; from here on no file of it changes.
    pub is_prepared: bool,
    _lock: File,
}

#[derive(Debug, Serialize, Deserialize)]
struct About {
    id: Hex,
    tables: Vec<String>,
    is_linked_softly: bool,
    /// What only logs held is in tables; from here on no file of it changes.
    is_prepared: bool,
}

/// Where checkpoints of a source for a target are.
#[derive(Debug)]
pub(crate) struct Place {
    source: PathBuf,
    /// Where its logs are.
    logs: PathBuf,
    path: PathBuf,
    /// A directory to fall back to where the first one cannot hold hard links.
    fallback: Option<PathBuf>,
}

impl Place {
    /// Beside the source, or in the directory that the settings name.
    pub fn of(settings: &Settings, target: &str) -> Result<Place, CopyError> {
        let directory = settings.checkpoint_directory.as_deref();
        let source = &settings.source;
        let source = fs::canonicalize(source).map_err(|error| CopyError::NotADatabase {
            path: source.to_path_buf(),
            detail: error.to_string(),
        })?;
        let logs = match &settings.log_directory {
            Some(logs) => fs::canonicalize(logs).map_err(|error| CopyError::io(logs, error))?,
            None => directory::logs_beside(&source)?,
        };
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        let hash = xxh3_64(format!("{}\0{target}", source.display()).as_bytes());
        let name = format!(".{name}.dunlin-copy-{hash:016x}");
        let beside = source.parent().unwrap_or(&source);
        let path = directory.unwrap_or(beside).join(&name);
        let fallback = directory
            .is_none()
            .then(|| std::env::temp_dir().join(&name));
        Ok(Place {
            source,
            logs,
            path,
            fallback,
        })
    }

    /// Where a checkpoint may be.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        [Some(&self.path), self.fallback.as_ref()]
            .into_iter()
            .flatten()
    }

    /// The checkpoint that an earlier run left.
    pub fn left_over(&self) -> Result<Option<Checkpoint>, CopyError> {
        for path in self.paths() {
            if let Ok(text) = fs::read(path.join(ABOUT))
                && let Ok(about) = serde_json::from_slice::<About>(&text)
            {
                return Ok(Some(about.checkpoint(path.clone(), lock(path)?)));
            }
        }
        Ok(None)
    }

    /// Makes one, in place of any that is left over.
    pub fn make(&self) -> Result<Checkpoint, CopyError> {
        directory::list_with(&self.source, &self.logs)?;
        match (self.make_at(&self.path, false), &self.fallback) {
            (Err(error), Some(fallback)) if is_place_to_blame(&error) => {
                self.make_at(fallback, true).map_err(|_| error)
            }
            (made, _) => made,
        }
    }

    fn make_at(&self, path: &Path, softly: bool) -> Result<Checkpoint, CopyError> {
        let at = |error| CopyError::io(path, error);
        let temporary = named(path, ".tmp");
        let held = lock(path)?;
        for stale in [&temporary, &path.to_path_buf()] {
            remove(stale)?;
        }
        for attempt in 0..ATTEMPTS {
            fs::create_dir(&temporary).map_err(at)?;
            let linked = link(self, &temporary, softly);
            match linked {
                Ok(Some(tables)) => {
                    let about = About {
                        id: Hex(rand::rng().random()),
                        tables,
                        is_linked_softly: softly,
                        is_prepared: false,
                    };
                    let text = serde_json::to_vec(&about).map_err(|e| at(e.into()))?;
                    fs::write(temporary.join(ABOUT), text).map_err(at)?;
                    fs::rename(&temporary, path).map_err(at)?;
                    return Ok(about.checkpoint(path.to_path_buf(), held));
                }
                Ok(None) => {}
                // A file that was listed has gone: the database is alive, or damaged.
                Err(CopyError::Damaged { .. }) if attempt + 1 < ATTEMPTS / 5 => {}
                Err(error) => {
                    remove(&temporary)?;
                    unlock(path);
                    return Err(error);
                }
            }
            remove(&temporary)?;
            std::thread::sleep(PAUSE.min(PAUSE * attempt / 10));
        }
        unlock(path);
        Err(CopyError::Changing {
            path: self.source.clone(),
        })
    }
}

impl About {
    fn checkpoint(self, path: PathBuf, lock: File) -> Checkpoint {
        Checkpoint {
            path,
            id: self.id,
            tables: self.tables,
            is_linked_softly: self.is_linked_softly,
            is_prepared: self.is_prepared,
            _lock: lock,
        }
    }
}

impl Checkpoint {
    /// Notes that no file of it will change any more.
    pub fn set_prepared(&mut self) -> Result<(), CopyError> {
        self.is_prepared = true;
        let about = About {
            id: self.id,
            tables: self.tables.clone(),
            is_linked_softly: self.is_linked_softly,
            is_prepared: true,
        };
        let path = self.path.join(ABOUT);
        let text =
            serde_json::to_vec(&about).map_err(|error| CopyError::io(&path, error.into()))?;
        place::replace(&path, &text)
    }

    /// Removes it.
    pub fn remove(self) -> Result<(), CopyError> {
        let removed = remove(&self.path);
        unlock(&self.path);
        removed
    }
}

/// Links and copies one state of `source`; `None` when it changed meanwhile.
fn link(place: &Place, into: &Path, softly: bool) -> Result<Option<Vec<String>>, CopyError> {
    let Place { source, logs, .. } = place;
    let before = directory::list_with(source, logs)?;
    for name in &before.tables {
        let (from, to) = (source.join(name), into.join(name));
        let linked = if softly {
            std::os::unix::fs::symlink(&from, &to)
        } else {
            fs::hard_link(&from, &to)
        };
        match linked {
            // Its compaction has just removed it; the lists will differ.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            linked => linked.map_err(|error| CopyError::io(into, error))?,
        }
    }
    let each = before.logs.iter();
    let mut copies: Vec<(&Path, &str, &str)> = each.map(|log| (&**logs, &**log, &**log)).collect();
    copies.push((source, "CURRENT", "CURRENT"));
    copies.push((source, "IDENTITY", "IDENTITY"));
    if let Some(options) = &before.options {
        copies.push((source, options, OPTIONS));
    }
    for (directory, from, to) in copies {
        let copied = fs::copy(directory.join(from), into.join(to));
        match copied {
            Err(error) if error.kind() == io::ErrorKind::NotFound && from == "IDENTITY" => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            copied => {
                copied.map_err(|error| CopyError::io(&into.join(to), error))?;
            }
        }
    }
    let (manifest, length) = &before.manifest;
    copy_prefix(&source.join(manifest), &into.join(manifest), *length)?;
    let after = directory::list_with(source, logs)?;
    // Logs only grow at their end, and new tables are of no interest; but a new manifest record
    // or log means that what was copied first and last may not fit together.
    let same = |listing: &Listing| (listing.manifest.clone(), listing.logs.clone());
    if same(&before) != same(&after) {
        return Ok(None);
    }
    directory::check_log(&into.join(manifest), false).map_err(|error| elsewhere(error, source))?;
    for (at, log) in before.logs.iter().enumerate() {
        directory::check_log(&into.join(log), at + 1 == before.logs.len())
            .map_err(|error| elsewhere(error, logs))?;
    }
    Ok(Some(before.tables))
}

/// The same error about the same file of the source.
pub(crate) fn elsewhere(error: CopyError, source: &Path) -> CopyError {
    let moved = |path: &Path| match path.file_name() {
        Some(name) if directory::is_of_database(&name.to_string_lossy()) => source.join(name),
        _ => source.to_path_buf(),
    };
    match error {
        CopyError::Damaged { file, detail } => CopyError::Damaged {
            file: moved(&file),
            detail,
        },
        CopyError::Unsupported { detail, .. } => CopyError::Unsupported {
            path: source.to_path_buf(),
            detail,
        },
        other => other,
    }
}

fn copy_prefix(from: &Path, to: &Path, length: u64) -> Result<(), CopyError> {
    let input = File::open(from).map_err(|error| CopyError::io(from, error))?;
    let mut output = File::create(to).map_err(|error| CopyError::io(to, error))?;
    io::copy(&mut input.take(length), &mut output)
        .and_then(|_| output.flush())
        .map_err(|error| CopyError::io(to, error))
}

/// Whether another place may do: another file system, or one that nobody may write to.
fn is_place_to_blame(error: &CopyError) -> bool {
    match error {
        CopyError::Io { detail, .. } => [
            "cross-device",
            "ermission denied",
            "not permitted",
            "Read-only",
            "ot supported",
        ]
        .iter()
        .any(|words| detail.contains(words)),
        _ => false,
    }
}

/// `path` with `ending` behind its name.
pub(crate) fn named(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Takes the lock of the checkpoint at `path`, held until the file is closed.
fn lock(path: &Path) -> Result<File, CopyError> {
    let lock = named(path, ".lock");
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock);
    let file = opened.map_err(|error| CopyError::io(&lock, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(CopyError::InUse {
            path: path.to_path_buf(),
        }),
        Err(fs::TryLockError::Error(error)) => Err(CopyError::io(&lock, error)),
    }
}

/// Removes the lock's file. Whoever waits for nothing cannot be waiting for it.
fn unlock(path: &Path) {
    let _ = fs::remove_file(named(path, ".lock"));
}

fn remove(path: &Path) -> Result<(), CopyError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CopyError::io(path, error)),
        _ => Ok(()),
    }
}
