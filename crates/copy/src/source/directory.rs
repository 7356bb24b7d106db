//! The files of a database's directory.

use std::fs;
use std::path::{Path, PathBuf};

use dunlin_log::inspect::{InspectError, Settings, Stat, Verdict};

use crate::CopyError;

/// Names of a database's files at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Tables and blob files: never change.
    pub tables: Vec<String>,
    /// Logs, oldest first.
    pub logs: Vec<String>,
    /// The file of options, the newest.
    pub options: Option<String>,
    /// The manifest that `CURRENT` names, and its length.
    pub manifest: (String, u64),
}

/// Lists a database, or says why there is none.
pub(crate) fn list(path: &Path) -> Result<Listing, CopyError> {
    list_with(path, path)
}

/// Where the logs of a database are when nobody says: beside its tables, unless its options name
/// another directory that has some, and it has none itself. Such a database is refused: it may be a
/// checkpoint of one whose logs go on there.
pub(crate) fn logs_beside(path: &Path) -> Result<PathBuf, CopyError> {
    let listing = list(path)?;
    let beside = Ok(path.to_path_buf());
    let Some(options) = listing.options.filter(|_| listing.logs.is_empty()) else {
        return beside;
    };
    let text = fs::read_to_string(path.join(&options)).unwrap_or_default();
    let named = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("wal_dir="))
        .filter(|named| !named.is_empty());
    // A relative one was relative to wherever that program ran.
    let Some(named) = named.filter(|named| !is_same(path, named)) else {
        return beside;
    };
    let own = path.display();
    Err(CopyError::Unsupported {
        path: path.to_path_buf(),
        detail: format!(
            "its logs are in {named} (wal_dir in {options}); say --wal-dir {named}, or --wal-dir \
             {own} when nothing was written since it was a checkpoint"
        ),
    })
}

fn is_same(path: &Path, named: &str) -> bool {
    fs::canonicalize(named).is_ok_and(|named| named == path)
}

/// Lists a database whose logs are in `logs`.
pub(crate) fn list_with(path: &Path, logs: &Path) -> Result<Listing, CopyError> {
    let not = |detail: &str| CopyError::NotADatabase {
        path: path.to_path_buf(),
        detail: detail.to_owned(),
    };
    if !path.exists() {
        return Err(not("no such directory"));
    }
    if !path.is_dir() {
        return Err(not("not a directory"));
    }
    let found = names(path)?;
    let manifest = current(path)?.ok_or_else(|| match found.iter().find(|n| is_table(n)) {
        Some(table) => CopyError::Damaged {
            file: path.join("CURRENT"),
            detail: format!("the file is missing but {table} is there"),
        },
        None => not("it has no file CURRENT"),
    })?;
    let manifest_path = path.join(&manifest);
    let length = fs::metadata(&manifest_path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CopyError::Damaged {
            file: manifest_path.clone(),
            detail: "the file is missing".to_owned(),
        },
        _ => CopyError::io(&manifest_path, error),
    })?;
    let mut listing = Listing {
        manifest: (manifest, length.len()),
        ..Listing::default()
    };
    for name in found {
        if is_table(&name) {
            listing.tables.push(name);
        } else if log_number(&name).is_some() {
            if path == logs {
                listing.logs.push(name);
            }
        } else if name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp") {
            listing.options = Some(name).max(listing.options);
        }
    }
    if path != logs {
        let all = names(logs)?.into_iter();
        listing.logs = all.filter(|name| log_number(name).is_some()).collect();
    }
    listing.tables.sort();
    listing.logs.sort_by_key(|name| log_number(name));
    Ok(listing)
}

/// The names in a directory.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, CopyError> {
    let at = |error| CopyError::io(path, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(at)? {
        names.push(
            entry
                .map_err(at)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    Ok(names)
}

/// The manifest that `CURRENT` names; `None` without that file.
pub(crate) fn current(path: &Path) -> Result<Option<String>, CopyError> {
    let file = path.join("CURRENT");
    let content = match fs::read(&file) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CopyError::io(&file, error)),
    };
    let name = String::from_utf8_lossy(&content);
    let named = name.strip_suffix('\n').filter(|name| {
        let number = name.strip_prefix("MANIFEST-");
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    match named {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(CopyError::Damaged {
            file,
            detail: "it names no manifest".to_owned(),
        }),
    }
}

/// Whether a name is that of a table or a blob file.
pub(crate) fn is_table(name: &str) -> bool {
    [".sst", ".ldb", ".blob"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn log_number(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// Whether a name is of a file that RocksDB makes.
pub(crate) fn is_of_database(name: &str) -> bool {
    is_table(name)
        || log_number(name).is_some()
        || ["CURRENT", "IDENTITY", "LOCK", "LOG"].contains(&name)
        || ["MANIFEST-", "OPTIONS-", "LOG.old"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.ends_with(".dbtmp")
}

/// Checks a manifest or a log, record by record. A torn end of the last log is what a crash, or a
/// writer at work, leaves and is no damage.
pub(crate) fn check_log(path: &Path, may_be_torn: bool) -> Result<(), CopyError> {
    let file = fs::File::open(path).map_err(|error| CopyError::io(path, error))?;
    let settings = Settings {
        number: path
            .file_name()
            .and_then(|name| log_number(&name.to_string_lossy()))
            .map(|number| number as u32),
        ..Settings::default()
    };
    let damaged = |detail: String| CopyError::Damaged {
        file: PathBuf::from(path),
        detail,
    };
    let stat = match Stat::read(file, &settings) {
        Ok(stat) => stat,
        // A log that nothing was written to.
        Err(InspectError::Empty) => return Ok(()),
        Err(error) => return Err(damaged(error.to_string())),
    };
    let is_bad = match stat.verdict() {
        Verdict::Whole => false,
        Verdict::Torn => !may_be_torn,
        Verdict::Damaged => true,
    };
    match (is_bad, stat.damages.first()) {
        (true, Some(first)) => Err(damaged(format!(
            "its records do not check at byte {}",
            first.offset
        ))),
        (true, None) => Err(damaged("its records do not check".to_owned())),
        (false, _) => Ok(()),
    }
}
