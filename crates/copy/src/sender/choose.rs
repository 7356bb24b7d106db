//! Pure: how a copy goes, from what was asked for and what is at the target.

use crate::CopyError;
use crate::plan::{Mode, Onto, Plan};
use crate::settings::Settings;
use crate::wire::message::{Found, Holds};

/// How a copy goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub mode: Mode,
    pub onto: Onto,
}

/// Chooses, or says why it cannot be.
pub(crate) fn choose(settings: &Settings, found: &Found) -> Result<Choice, CopyError> {
    let target = &settings.target;
    if found.holds == Holds::Other {
        return Err(CopyError::Refused(format!(
            "{target} is not empty and not a database; name another directory"
        )));
    }
    let goes_on = found.partial.as_ref().filter(|plan| fits(settings, plan));
    let is_done = found.receipt.is_some();
    if found.holds == Holds::Database
        && settings.onto == Onto::Empty
        && goes_on.is_none()
        && !is_done
    {
        return Err(CopyError::Refused(format!(
            "{target} holds a database; --merge adds to it, --replace removes it"
        )));
    }
    if let Some(plan) = goes_on {
        return Ok(Choice {
            mode: plan.mode,
            onto: plan.onto,
        });
    }
    let onto = match (found.holds, settings.onto) {
        (Holds::Nothing, _) => Onto::Empty,
        (_, onto) => onto,
    };
    let merges = onto == Onto::Merge;
    let is_part = !settings.column_families.is_empty();
    let mode = match settings.mode {
        Some(Mode::Files) if merges => {
            return Err(CopyError::Refused(format!(
                "--mode files needs an empty target, and {target} holds a database"
            )));
        }
        Some(Mode::Files) if is_part => {
            return Err(CopyError::Refused(
                "--mode files copies all column families; use --mode ingest for some".to_owned(),
            ));
        }
        Some(mode) => mode,
        None if merges || is_part => Mode::Ingest,
        None => Mode::Files,
    };
    Ok(Choice { mode, onto })
}

/// Whether a copy that was begun is the one that is asked for, its source apart.
pub(crate) fn fits(settings: &Settings, plan: &Plan) -> bool {
    let mode = settings.mode.is_none_or(|mode| mode == plan.mode);
    // A copy into an empty target does no harm to anything, whatever was allowed.
    let onto = settings.onto == plan.onto || plan.onto == Onto::Empty;
    let families = &settings.column_families;
    let some = families.is_empty() || *families == plan.column_families;
    mode && onto && some
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
