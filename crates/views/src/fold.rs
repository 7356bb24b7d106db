//! Reduce functions of a user: JavaScript that makes one value of many rows, and of many such values one again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dunlin_changes::wire::get_bytes;

use crate::engine::{Ended, EngineError, ScriptError};
use crate::engines::{Engine, Engines};
use crate::message::{get_result, of_fold};

/// A value that a function makes of rows is no longer than this.
const REDUCED_BYTES_MAX: usize = 64 << 10;
/// Functions of a view that wait for the next query.
const IDLE_MAX: usize = 2;
/// From so many bytes on it must be less than half of the values that it is made of.
const SHRUNK_BYTES: usize = 4 << 10;
/// So many rows, or bytes of rows, are given to a function at a time.
pub(crate) const ROWS_AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 256 << 10;

/// A reduce function in an engine.
pub(crate) struct Fold(Engine);

/// Rows that are to be reduced.
#[derive(Default)]
pub(crate) struct Rows {
    count: usize,
    keys: String,
    values: String,
}

impl Rows {
    /// Adds a row, all of it JSON.
    pub fn add(&mut self, key: &str, id: &str, value: &str) {
        for text in [&mut self.keys, &mut self.values] {
            text.push(if self.count == 0 { '[' } else { ',' });
        }
        self.keys.push_str(&format!("[{key},{id}]"));
        self.values.push_str(value);
        self.count += 1;
    }

    /// Whether they are as many as are given to a function.
    pub fn is_full(&self) -> bool {
        let bytes = self.keys.len() + self.values.len();
        self.count >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Fold {
    /// From its source.
    ///
    /// # Errors
    /// When that is no function; the line is named.
    pub fn new(engines: Engines, source: &str) -> Result<Fold, EngineError> {
        Engine::new(engines, false, source).map(Fold)
    }

    /// What it makes of rows, JSON.
    ///
    /// # Errors
    /// When it threw, reached a bound, or made too much of them.
    pub fn reduce(&mut self, rows: &Rows) -> Result<Box<str>, EngineError> {
        let (keys, values) = (format!("{}]", rows.keys), format!("{}]", rows.values));
        self.call(&keys, &values, false)
    }

    /// What it makes of what it made before.
    ///
    /// # Errors
    /// As of rows.
    pub fn reduce_again(&mut self, values: &[Box<str>]) -> Result<Box<str>, EngineError> {
        let values = format!("[{}]", values.join(","));
        self.call("null", &values, true)
    }

    fn call(&mut self, keys: &str, values: &str, is_again: bool) -> Result<Box<str>, EngineError> {
        let sent = self.0.send(of_fold(keys, values, is_again))?;
        let mut answer = sent.map_err(|Ended(why)| ScriptError::new(why))?;
        let text = get_result(&mut answer, |body| {
            let text = get_bytes(body)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        })??;
        let is_long = text.len() > REDUCED_BYTES_MAX
            || text.len() > SHRUNK_BYTES && text.len() * 2 > values.len();
        if is_long {
            let line = format!(
                "a reduce function makes little of many rows, and this one made {} bytes of {}: it must shrink them, to {REDUCED_BYTES_MAX} at most",
                text.len(),
                values.len()
            );
            return Err(ScriptError::new(line).into());
        }
        Ok(text.into())
    }
}

/// The reduce function of a view, in as many engines as there are readers; some wait for the next query, for to start a
/// process takes longer than that.
pub(crate) struct Folds {
    engines: Engines,
    source: String,
    idle: Mutex<Vec<Fold>>,
}

impl Folds {
    /// Of this source.
    pub fn new(engines: Engines, source: &str) -> Folds {
        Folds {
            engines,
            source: source.to_owned(),
            idle: Mutex::default(),
        }
    }

    /// One that waits, or a new one.
    ///
    /// # Errors
    /// As of a new one.
    pub fn take(&self) -> Result<Fold, EngineError> {
        let idle = self.idle().pop();
        idle.map_or_else(|| Fold::new(self.engines, &self.source), Ok)
    }

    /// Gives one back.
    pub fn give(&self, fold: Option<Fold>) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.extend(fold);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Fold>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
