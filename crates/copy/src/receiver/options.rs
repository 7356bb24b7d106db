//! The options of the database that a copy is merged into, kept while it is.

use std::fs;
use std::io;

use super::place::Place;
use crate::CopyError;
use crate::plan::{Onto, Plan};
use crate::source::directory;

const OPTIONS: &str = "kept-options";

/// Keeps the options of a database that the copy will be merged into: opening it to do so writes
/// others.
pub(crate) fn keep(place: &Place, plan: &Plan) -> Result<(), CopyError> {
    let kept = place.partial().join(OPTIONS);
    let newest = match plan.onto {
        Onto::Merge if place.directory.join("CURRENT").exists() => {
            directory::list(&place.directory)?.options
        }
        _ => None,
    };
    match newest {
        Some(name) => fs::copy(place.directory.join(name), &kept)
            .map(drop)
            .map_err(|error| CopyError::io(&kept, error)),
        None => match fs::remove_file(&kept) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(CopyError::io(&kept, error))
            }
            _ => Ok(()),
        },
    }
}

/// Puts back what [`keep`] kept.
pub(crate) fn restore(place: &Place) -> Result<(), CopyError> {
    let kept = place.partial().join(OPTIONS);
    if !kept.exists() {
        return Ok(());
    }
    if let Some(name) = directory::list(&place.directory)?.options {
        let newest = place.directory.join(name);
        fs::copy(&kept, &newest).map_err(|error| CopyError::io(&newest, error))?;
    }
    Ok(())
}
