//! A log file opened to be looked at.

use std::fs::File;
use std::path::Path;

use dunlin_log::inspect::{InspectError, Inspector, Layout, Settings, Stat};

use super::{Reading, find, settings};
use crate::failure::Failure;
use crate::units::Size;

/// Opens a file and finds out what it is.
pub fn open(path: &Path, reading: &Reading) -> Result<Inspector<File>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    Inspector::new(file, &read_as(path, reading)?).map_err(|error| failure(path, &error))
}

/// Adds a file up. An empty one is an error, unless RocksDB made it and wrote nothing yet.
pub fn stat(path: &Path, reading: &Reading, may_be_empty: bool) -> Result<Stat, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    match Stat::read(file, &read_as(path, reading)?) {
        Err(InspectError::Empty) if may_be_empty => Ok(Stat::default()),
        read => read.map_err(|error| failure(path, &error)),
    }
}

fn read_as(path: &Path, reading: &Reading) -> Result<Settings, Failure> {
    let block_size_bytes = reading.block_size.0.try_into();
    let number = reading.number.or_else(|| find::number(path));
    Ok(Settings {
        block_size_bytes: block_size_bytes
            .map_err(|_| Failure::Usage(format!("block size {}: too large", reading.block_size)))?,
        // Headers hold the low 32 bits.
        number: number.map(|number| number as u32),
        ..Settings::default()
    })
}

/// One line that names the file and what can be done.
pub fn failure(path: &Path, error: &InspectError) -> Failure {
    let is_table = path.extension().is_some_and(|extension| extension == "sst");
    match error {
        InspectError::BlockSize(_) => Failure::Usage(error.to_string()),
        InspectError::NotALog if is_table => Failure::Failed(format!(
            "{}: not a log but a table; sst_dump reads it",
            path.display()
        )),
        InspectError::NotALog | InspectError::Empty | InspectError::Io(_) => {
            Failure::Failed(format!("{}: {error}", path.display()))
        }
    }
}

/// What a file is, in a few words.
pub fn described(layout: &Layout, dunlin: bool) -> String {
    let kind = if dunlin {
        "Dunlin segment"
    } else {
        "RocksDB log"
    };
    let number = layout
        .number
        .map_or(String::new(), |number| format!(" {number}"));
    let layout = match &layout.settings {
        Some(settings) => settings::text(settings),
        None => format!("blocks of {}", Size(u64::from(layout.block_size_bytes))),
    };
    format!("{kind}{number}, {layout}")
}
