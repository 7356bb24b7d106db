//! What a target remembers: the plan with its phase, and a journal of finished units.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::place::{self, Place};
use crate::CopyError;
use crate::plan::{Hex, Plan};
use crate::wire::pair::Tally;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Units arrive.
    Receiving,
    /// Tables become a database.
    Installing,
    /// The database that is to be replaced is removed.
    Clearing,
    /// Files move into the target.
    Moving,
}

/// The content of `plan.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub phase: Phase,
    #[serde(flatten)]
    pub plan: Plan,
}

impl State {
    /// Reads it; `None` when there is none.
    pub fn load(place: &Place) -> Result<Option<State>, CopyError> {
        let path = place.plan();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CopyError::io(&path, error)),
        };
        let damaged = |detail: String| CopyError::Damaged { file: path, detail };
        match serde_json::from_slice::<State>(&text) {
            Ok(state) => match state.plan.fault() {
                None => Ok(Some(state)),
                Some(fault) => Err(damaged(fault)),
            },
            Err(error) => Err(damaged(error.to_string())),
        }
    }

    /// Writes it.
    pub fn store(&self, place: &Place) -> Result<(), CopyError> {
        let path = place.plan();
        let text = serde_json::to_vec(self).map_err(|error| CopyError::io(&path, error.into()))?;
        place::replace(&path, &text)
    }
}

/// The units that are on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    done: BTreeMap<u32, Tally>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    unit: u32,
    pairs: u64,
    bytes: u64,
    checksum: Hex,
}

impl Journal {
    /// Reads it, and goes on behind its last whole line.
    pub fn open(place: &Place) -> Result<Journal, CopyError> {
        let path = place.done();
        let at = |error| CopyError::io(&path, error);
        let (done, whole) = read(place)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .append(true)
            .open(&path)
            .map_err(at)?;
        file.set_len(whole as u64).map_err(at)?;
        Ok(Journal { file, done })
    }

    /// How many units are done, while another process may be adding to them.
    pub fn count(place: &Place) -> Result<usize, CopyError> {
        Ok(read(place)?.0.len())
    }

    /// What is done.
    pub fn done(&self) -> &BTreeMap<u32, Tally> {
        &self.done
    }

    /// Notes a unit, durably. All it consists of must be on disk.
    pub fn add(&mut self, place: &Place, unit: u32, tally: Tally) -> Result<(), CopyError> {
        let at = |error| CopyError::io(&place.done(), error);
        let line = Line {
            unit,
            pairs: tally.pairs,
            bytes: tally.bytes,
            checksum: Hex(tally.checksum),
        };
        let json = serde_json::to_string(&line).map_err(|error| at(error.into()))?;
        let line = format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes()));
        // A failed write may leave half a line; the next open cuts it off.
        self.file.write_all(line.as_bytes()).map_err(at)?;
        self.file.sync_data().map_err(at)?;
        self.done.insert(unit, tally);
        Ok(())
    }
}

/// The units of the whole lines, and the bytes of these lines.
fn read(place: &Place) -> Result<(BTreeMap<u32, Tally>, usize), CopyError> {
    let path = place.done();
    let content = match fs::read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(CopyError::io(&path, error)),
    };
    let mut done = BTreeMap::new();
    let mut whole = 0;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let Some((unit, tally)) = parse(line) else {
            break;
        };
        done.insert(unit, tally);
        whole += line.len();
    }
    Ok((done, whole))
}

fn parse(line: &[u8]) -> Option<(u32, Tally)> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (checksum, json) = text.split_once(' ')?;
    if u32::from_str_radix(checksum, 16).ok()? != crc32c::crc32c(json.as_bytes()) {
        return None;
    }
    let line: Line = serde_json::from_str(json).ok()?;
    let tally = Tally {
        pairs: line.pairs,
        bytes: line.bytes,
        checksum: line.checksum.0,
    };
    Some((line.unit, tally))
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
