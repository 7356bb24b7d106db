//! Map functions: JavaScript that is given a document and emits rows. It has bounds of time and memory, and neither a
//! clock nor chance.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Object, Runtime, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::collate::Encode;

/// The most rows that one document may have.
pub const ROWS_MAX: usize = 1_000;
/// The longest key of a row, in bytes of its index.
pub const KEY_BYTES_MAX: usize = 8 << 10;
/// The most bytes that the rows of one document may have, as JSON.
pub const EMITTED_BYTES_MAX: usize = 1 << 20;
/// What a function may use of memory for one document.
pub const MEMORY_BYTES_MAX: usize = 128 << 20;
/// After so many times ten thousand calls and jumps a function is stopped. Not a time: all replicas are to judge alike.
const STEPS_MAX: u32 = 1_000;

const PRELUDE: &str = include_str!("prelude.js");
const SET: &str = "__dunlin_set";
const RUN: &str = "__dunlin_run";

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

/// Why a source is no function that can be called, or what it threw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// In which line.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl ScriptError {
    fn new(message: impl Into<String>) -> ScriptError {
        ScriptError {
            line: None,
            message: message.into(),
        }
    }
}

/// A map function, ready to be called.
pub struct Map {
    source: Arc<str>,
    engine: Option<Engine>,
}

struct Engine {
    context: Context,
    /// How often it has run ten thousand steps, for this document.
    steps: Arc<AtomicU32>,
}

impl Map {
    /// From its source.
    ///
    /// # Errors
    /// When that is no function; the line is named.
    pub fn new(source: &str) -> Result<Map, ScriptError> {
        let source: Arc<str> = source.into();
        let engine = Some(Engine::new(&source)?);
        Ok(Map { source, engine })
    }

    /// Calls it.
    ///
    /// # Errors
    /// When it threw, ran for too long, took too much memory, or emitted too much or what is no key.
    pub fn call(&mut self, document: &Document<'_>) -> Result<Vec<Emitted>, ScriptError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => Engine::new(&self.source)?,
        };
        engine.steps.store(0, Ordering::Relaxed);
        let text = engine.call(document);
        let is_stopped = engine.steps.load(Ordering::Relaxed) > STEPS_MAX;
        // Where it was stopped, or had no memory left, the next document begins with an engine that is whole.
        let is_spent =
            is_stopped || matches!(&text, Err(error) if error.message.contains("out of memory"));
        if !is_spent {
            self.engine = Some(engine);
        }
        if is_stopped {
            return Err(ScriptError::new("it ran for too long"));
        }
        rows(&text?)
    }
}

impl Engine {
    fn new(source: &str) -> Result<Engine, ScriptError> {
        let failed = |error: rquickjs::Error| ScriptError::new(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(MEMORY_BYTES_MAX);
        let steps = Arc::new(AtomicU32::new(0));
        let counted = steps.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed) >= STEPS_MAX
        })));
        let context = Context::builder()
            .with::<intrinsic::Eval>()
            .with::<intrinsic::Json>()
            .with::<intrinsic::Date>()
            .with::<intrinsic::RegExpCompiler>()
            .with::<intrinsic::RegExp>()
            .with::<intrinsic::MapSet>()
            .with::<intrinsic::TypedArrays>()
            .build(&runtime)
            .map_err(failed)?;
        context.with(|ctx| set_up(&ctx, source))?;
        Ok(Engine { context, steps })
    }

    fn call(&self, document: &Document<'_>) -> Result<String, ScriptError> {
        self.context.with(|ctx| {
            let text = run(&ctx, document);
            text.catch(&ctx).map_err(thrown)
        })
    }
}

fn set_up(ctx: &Ctx<'_>, source: &str) -> Result<(), ScriptError> {
    let eval = |file: &str, text: String| {
        let mut options = EvalOptions::default();
        options.strict = true;
        options.filename = Some(file.to_owned());
        ctx.eval_with_options::<Value<'_>, _>(text, options)
    };
    let names = format!("const SET = {SET:?}, RUN = {RUN:?}, ROWS_MAX = {ROWS_MAX};");
    let prelude = format!("(function () {{ {names} {PRELUDE} }})()");
    eval("prelude", prelude).catch(ctx).map_err(thrown)?;
    // An expression; what stands behind it in a file does not matter.
    let source = source.trim_end().trim_end_matches(';');
    let given = eval("map", format!("({source}\n)"))
        .catch(ctx)
        .map_err(thrown)?;
    if !given.is_function() {
        return Err(ScriptError::new(
            "it must be one function: function (doc, meta) { emit(key, value) }",
        ));
    }
    let set = || {
        ctx.globals()
            .get::<_, Function<'_>>(SET)?
            .call::<_, ()>((given,))
    };
    set().catch(ctx).map_err(thrown)
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
    let run: Function<'_> = ctx.globals().get(RUN)?;
    let text: rquickjs::String<'_> = run.call((doc, meta))?;
    text.to_string()
}

fn thrown(error: CaughtError<'_>) -> ScriptError {
    let (message, stack) = match &error {
        CaughtError::Exception(exception) => {
            let message = exception.message().unwrap_or_default();
            let name: String = exception.as_object().get("name").unwrap_or_default();
            (format!("{name}: {message}"), exception.stack())
        }
        CaughtError::Value(value) => {
            let text = value.as_string().and_then(|text| text.to_string().ok());
            (
                text.unwrap_or_else(|| "it threw what is no error".to_owned()),
                None,
            )
        }
        CaughtError::Error(error) => (error.to_string(), None),
    };
    const SHOWN_CHARS: usize = 300;
    ScriptError {
        line: stack.as_deref().and_then(line_of),
        message: message.chars().take(SHOWN_CHARS).collect(),
    }
}

/// The first line of the map function that a stack names, as in `at map:3:7`.
fn line_of(stack: &str) -> Option<u32> {
    let (_, behind) = stack.split_once("map:")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
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
