//! Map functions: JavaScript that is given a document and emits rows. It has bounds of time and memory, and neither a
//! clock nor chance.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::{Ctx, Function, Object, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::collate::Encode;
use crate::engine::{MAP, Script, ScriptError};

/// The most rows that one document may have.
pub const ROWS_MAX: usize = 1_000;
/// The longest key of a row, in bytes of its index.
pub const KEY_BYTES_MAX: usize = 8 << 10;
/// The most bytes that the rows of one document may have, as JSON.
pub const EMITTED_BYTES_MAX: usize = 1 << 20;
/// What a function is given.
#[derive(Debug, Clone)]
pub struct Document<'d> {
    /// Its key.
    pub id: &'d [u8],
    /// Its value.
    pub value: &'d [u8],
    /// The value's version.
    pub version: String,
    /// When its time is over, in milliseconds since 1970.
    pub expiry_ms: Option<u64>,
}

/// A row of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// Its key, see `collate`.
    pub key: Vec<u8>,
    /// Its value, JSON.
    pub value: Box<str>,
}

/// A map function, ready to be called.
pub struct Map(Script);

impl Map {
    /// From its source.
    ///
    /// # Errors
    /// When that is no function; the line is named.
    pub fn new(source: &str) -> Result<Map, ScriptError> {
        Script::new(source).map(Map)
    }

    /// Calls it.
    ///
    /// # Errors
    /// When it threw, ran for too long, took too much memory, or emitted too much or what is no key.
    pub fn call(&mut self, document: &Document<'_>) -> Result<Vec<Emitted>, ScriptError> {
        rows(&self.0.call(|ctx| run(ctx, document))?)
    }
}

fn run(ctx: &Ctx<'_>, document: &Document<'_>) -> rquickjs::Result<String> {
    let meta = Object::new(ctx.clone())?;
    match std::str::from_utf8(document.id) {
        Ok(id) => meta.set("id", id)?,
        Err(_) => {
            meta.set("id", Value::new_null(ctx.clone()))?;
            meta.set("id_base64", STANDARD.encode(document.id))?;
        }
    }
    meta.set("version", document.version.as_str())?;
    match document.expiry_ms {
        Some(expiry_ms) => meta.set("expiry", expiry_ms as f64)?,
        None => meta.set("expiry", Value::new_null(ctx.clone()))?,
    }
    let doc = match ctx.json_parse(document.value) {
        Ok(value) => value,
        Err(_) => {
            // What was wrong with it does not matter.
            drop(ctx.catch());
            match std::str::from_utf8(document.value) {
                Ok(text) => rquickjs::String::from_str(ctx.clone(), text)?.into_value(),
                Err(_) => {
                    meta.set("value_base64", STANDARD.encode(document.value))?;
                    Value::new_null(ctx.clone())
                }
            }
        }
    };
    let run: Function<'_> = ctx.globals().get(MAP)?;
    let text: rquickjs::String<'_> = run.call((doc, meta))?;
    text.to_string()
}

/// The rows of `[key, value, key, value, ..]`.
fn rows(text: &str) -> Result<Vec<Emitted>, ScriptError> {
    if text.len() > EMITTED_BYTES_MAX {
        let line = format!("more emitted than {EMITTED_BYTES_MAX} bytes");
        return Err(ScriptError::new(line));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let rows = Rows.deserialize(&mut reader);
    rows.map_err(|error| {
        let text = error.to_string();
        // Where in a text that nobody sees does not matter.
        let line = text.split(" at line ").next().unwrap_or_default();
        ScriptError::new(line)
    })
}

struct Rows;

impl<'de> DeserializeSeed<'de> for Rows {
    type Value = Vec<Emitted>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Vec<Emitted>, D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows {
    type Value = Vec<Emitted>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys and values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Vec<Emitted>, A::Error> {
        let mut rows = Vec::new();
        loop {
            let mut key = Vec::with_capacity(64);
            if parts.next_element_seed(Encode::new(&mut key))?.is_none() {
                return Ok(rows);
            }
            if key.len() > KEY_BYTES_MAX {
                let line = format!(
                    "a key of {} bytes emitted: at most {KEY_BYTES_MAX}",
                    key.len()
                );
                return Err(A::Error::custom(line));
            }
            let value: Option<&RawValue> = parts.next_element()?;
            let value = value.ok_or_else(|| A::Error::custom("a key without a value"))?;
            rows.push(Emitted {
                key,
                value: value.get().into(),
            });
        }
    }
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
