//! The files of a prepared checkpoint.

use std::fs;
use std::path::Path;

use crate::CopyError;
use crate::plan::{Part, Unit};
use crate::source::database::Source;
use crate::source::directory;

/// The most bytes of a file in one unit.
const PART_BYTES_MAX: u64 = 128 << 20;

/// What a database consists of: its tables, blob files, manifest, options and identity.
pub(crate) fn units(path: &Path, source: &Source) -> Result<Vec<Unit>, CopyError> {
    let listing = directory::list(path)?;
    let is_live = |name: &str| {
        name.ends_with(".blob")
            || source
                .files
                .iter()
                .any(|file| file.name.trim_start_matches('/') == name)
    };
    let mut names: Vec<String> = listing
        .tables
        .into_iter()
        .filter(|name| is_live(name))
        .collect();
    names.extend(listing.options);
    names.extend([listing.manifest.0, "CURRENT".to_owned()]);
    if path.join("IDENTITY").exists() {
        names.push("IDENTITY".to_owned());
    }
    let mut units = Vec::new();
    for file in names {
        let at = path.join(&file);
        let found = fs::metadata(&at).map_err(|error| CopyError::io(&at, error))?;
        let file_length = found.len();
        let mut offset = 0;
        loop {
            let length = PART_BYTES_MAX.min(file_length - offset);
            units.push(Unit::Part(Part {
                file: file.clone(),
                offset,
                length,
                file_length,
            }));
            offset += length;
            if offset == file_length {
                break;
            }
        }
    }
    Ok(units)
}
