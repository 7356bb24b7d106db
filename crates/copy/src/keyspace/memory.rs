//! What a copy into a keyspace remembers, beside the source's checkpoint: the plan and the units
//! that are done. Its form is a receiver's.

use std::path::{Path, PathBuf};

use crate::CopyError;
use crate::plan::Plan;
use crate::receiver::place::{self, Place};
use crate::receiver::state::{Journal, Phase, State};
use crate::source::checkpoint::named;
use crate::source::directory;
use crate::wire::pair::Tally;

/// A directory with plan and journal.
#[derive(Debug)]
pub(crate) struct Memory {
    place: Place,
    journal: Journal,
}

/// What an earlier run left.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub plan: Plan,
    pub done: usize,
}

/// Where the copy into keyspace `id` with a checkpoint at `checkpoint` is remembered. A keyspace
/// that was dropped and created again has another number.
fn at(checkpoint: &Path, id: u32) -> Place {
    Place {
        directory: named(checkpoint, &format!(".keyspace-{id}")),
    }
}

/// What is remembered beside one of the places where the checkpoint may be.
pub(crate) fn recall<'a>(
    checkpoints: impl Iterator<Item = &'a PathBuf>,
    id: u32,
) -> Result<Option<Remembered>, CopyError> {
    for checkpoint in checkpoints {
        let place = at(checkpoint, id);
        if let Some(state) = State::load(&place)? {
            let done = Journal::count(&place)?;
            return Ok(Some(Remembered {
                plan: state.plan,
                done,
            }));
        }
    }
    Ok(None)
}

impl Memory {
    /// Goes on with what is remembered of `plan`, or begins to.
    pub fn open(checkpoint: &Path, id: u32, plan: &Plan) -> Result<Memory, CopyError> {
        let place = at(checkpoint, id);
        let known = State::load(&place)?.is_some_and(|state| state.plan == *plan);
        if !known {
            forget_all(checkpoint)?;
            let partial = place.partial();
            let made = std::fs::create_dir_all(&partial);
            made.map_err(|error| CopyError::io(&partial, error))?;
            let state = State {
                phase: Phase::Receiving,
                plan: plan.clone(),
            };
            state.store(&place)?;
            place::sync_directory(&place.directory)?;
            if let Some(parent) = checkpoint.parent() {
                place::sync_directory(parent)?;
            }
        }
        let journal = Journal::open(&place)?;
        Ok(Memory { place, journal })
    }

    /// The units that are done.
    pub fn done(&self) -> Vec<u32> {
        self.journal.done().keys().copied().collect()
    }

    /// Notes that the cluster has all of a unit.
    pub fn add(&mut self, unit: u32, tally: Tally) -> Result<(), CopyError> {
        self.journal.add(&self.place, unit, tally)
    }

    /// The copy is whole.
    pub fn forget(self) -> Result<(), CopyError> {
        self.place.forget()?;
        place::remove_directory(&self.place.directory)
    }
}

/// Forgets copies with a checkpoint there into keyspaces that are no more.
fn forget_all(checkpoint: &Path) -> Result<(), CopyError> {
    let (Some(parent), Some(name)) = (checkpoint.parent(), checkpoint.file_name()) else {
        return Ok(());
    };
    let prefix = format!("{}.keyspace-", name.to_string_lossy());
    for name in directory::names(parent)? {
        if name.starts_with(&prefix) {
            place::remove_directory(&parent.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
