//! Reduce functions of a user: JavaScript that makes one value of many rows, and of many such values one again.

use rquickjs::Function;

use crate::engine::{REDUCE, Script, ScriptError};

/// A value that a function makes of rows is no longer than this.
const REDUCED_BYTES_MAX: usize = 64 << 10;
/// So many rows, or bytes of rows, are given to a function at a time.
pub(crate) const ROWS_AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 256 << 10;

/// A reduce function, ready to be called.
pub(crate) struct Fold(Script);

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
    pub fn new(source: &str) -> Result<Fold, ScriptError> {
        Script::new(source).map(Fold)
    }

    /// What it makes of rows, JSON.
    ///
    /// # Errors
    /// When it threw, met a bound, or made too much of them.
    pub fn reduce(&mut self, rows: &Rows) -> Result<Box<str>, ScriptError> {
        let (keys, values) = (format!("{}]", rows.keys), format!("{}]", rows.values));
        self.call(keys, values, false)
    }

    /// What it makes of what it made before.
    ///
    /// # Errors
    /// As of rows.
    pub fn reduce_again(&mut self, values: &[Box<str>]) -> Result<Box<str>, ScriptError> {
        let values = format!("[{}]", values.join(","));
        self.call("null".to_owned(), values, true)
    }

    fn call(
        &mut self,
        keys: String,
        values: String,
        is_again: bool,
    ) -> Result<Box<str>, ScriptError> {
        let text = self.0.call(|ctx| {
            let reduce: Function<'_> = ctx.globals().get(REDUCE)?;
            let text: rquickjs::String<'_> = reduce.call((keys, values, is_again))?;
            text.to_string()
        })?;
        if text.len() > REDUCED_BYTES_MAX {
            Err(ScriptError::new(format!(
                "a reduce function makes little of many rows, and this one made {} bytes: at most {REDUCED_BYTES_MAX}",
                text.len()
            )))
        } else {
            Ok(text.into())
        }
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
