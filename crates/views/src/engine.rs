//! JavaScript with bounds of time and memory, and with neither a clock nor chance.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dunlin_changes::wire::Malformed;
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Runtime, Value};

use crate::map::ROWS_MAX;

/// What a function may use of memory at a time.
pub const MEMORY_BYTES_MAX: usize = 128 << 20;
/// After so many times ten thousand calls and jumps a function is stopped. Not a time: all replicas decide alike.
const STEPS_MAX: u32 = 300;

const PRELUDE: &str = include_str!("prelude.js");
const SET: &str = "__dunlin_set";
/// Calls a map function.
pub(crate) const MAP: &str = "__dunlin_map";
/// Calls a reduce function.
pub(crate) const REDUCE: &str = "__dunlin_reduce";

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
    pub(crate) fn new(message: impl Into<String>) -> ScriptError {
        ScriptError {
            line: None,
            message: message.into(),
        }
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The function is to be corrected.
    #[error("{0}")]
    Script(ScriptError),
    /// The call is to be repeated.
    #[error("the engine of a view was lost, and is started anew: {0}")]
    Lost(String),
}

impl From<ScriptError> for EngineError {
    fn from(error: ScriptError) -> EngineError {
        EngineError::Script(error)
    }
}

impl From<Malformed> for EngineError {
    fn from(error: Malformed) -> EngineError {
        EngineError::Lost(error.to_string())
    }
}

/// A call ended its engine: why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended(pub String);

/// A function, ready to be called.
pub(crate) struct Script {
    source: Arc<str>,
    engine: Option<Engine>,
}

struct Engine {
    context: Context,
    /// How often it has run ten thousand steps, in this call.
    steps: Arc<AtomicU32>,
}

impl Script {
    /// From its source.
    ///
    /// # Errors
    /// When that is no function; the line is named.
    pub fn new(source: &str) -> Result<Script, ScriptError> {
        let source: Arc<str> = source.into();
        let engine = Some(Engine::new(&source)?);
        Ok(Script { source, engine })
    }

    /// Calls it, by what `call` says of the arguments; the answer is JSON.
    ///
    /// # Errors
    /// When it threw, ran for too long, or took too much memory.
    pub fn call(
        &mut self,
        call: impl Fn(&Ctx<'_>) -> rquickjs::Result<String>,
    ) -> Result<String, ScriptError> {
        if let Some(engine) = self.engine.take() {
            let called = engine.call(&call);
            if !called.is_near_a_bound {
                self.engine = Some(engine);
                return called.text;
            }
        }
        // What calls before it have left of memory and steps does not decide: a new engine does.
        let engine = Engine::new(&self.source)?;
        let called = engine.call(&call);
        if !called.is_near_a_bound {
            self.engine = Some(engine);
        }
        called.text
    }
}

/// The outcome of a call.
struct Called {
    text: Result<String, ScriptError>,
    /// Another engine could decide otherwise, or this one is of no use any more.
    is_near_a_bound: bool,
}

impl Engine {
    fn call(&self, call: impl Fn(&Ctx<'_>) -> rquickjs::Result<String>) -> Called {
        self.steps.store(0, Ordering::Relaxed);
        let run = |ctx: Ctx<'_>| call(&ctx).catch(&ctx).map_err(thrown);
        let text = self.context.with(run);
        let steps = self.steps.load(Ordering::Relaxed);
        let is_full = matches!(&text, Err(error) if error.message.contains("out of memory"));
        let text = if steps > STEPS_MAX {
            Err(ScriptError::new("it ran for too long"))
        } else {
            text.map(well_formed)
        };
        Called {
            text,
            is_near_a_bound: is_full || steps >= STEPS_MAX,
        }
    }

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
}

fn set_up(ctx: &Ctx<'_>, source: &str) -> Result<(), ScriptError> {
    let eval = |file: &str, text: String| {
        let mut options = EvalOptions::default();
        options.strict = true;
        options.filename = Some(file.to_owned());
        ctx.eval_with_options::<Value<'_>, _>(text, options)
    };
    let names =
        format!("const SET = {SET:?}, MAP = {MAP:?}, REDUCE = {REDUCE:?}, ROWS_MAX = {ROWS_MAX};");
    let prelude = format!("(function () {{ {names} {PRELUDE} }})()");
    eval("prelude", prelude).catch(ctx).map_err(thrown)?;
    // An expression; what stands behind it in a file does not matter.
    let source = source.trim_end().trim_end_matches(';');
    let given = eval("function", format!("({source}\n)"));
    let given = given.catch(ctx).map_err(thrown)?;
    if !given.is_function() {
        return Err(ScriptError::new(
            "it must be one function, as function (doc, meta) { emit(key, value) }",
        ));
    }
    let set = || {
        let factory = eval(
            "function",
            format!("(function () {{ return ({source}\n) }})"),
        )?;
        let set: Function<'_> = ctx.globals().get(SET)?;
        set.call::<_, ()>((factory,))
    };
    set().catch(ctx).map_err(thrown)
}

/// JSON whose strings are text: a half of a pair of surrogates, which is written as an escape, becomes U+FFFD.
fn well_formed(json: String) -> String {
    if !json.contains("\\ud") {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = &json[..];
    while let Some(at) = rest.find('\\') {
        let is_half = rest[at..].starts_with("\\ud");
        let (kept, length) = if is_half { (at, 6) } else { (at + 2, 2) };
        out.push_str(&rest[..kept]);
        if is_half {
            out.push_str("\\ufffd");
        }
        rest = rest.get(at + length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
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
            let text = text.unwrap_or_else(|| "it threw what is no error".to_owned());
            (text, None)
        }
        CaughtError::Error(error) => (error.to_string(), None),
    };
    const SHOWN_CHARS: usize = 300;
    ScriptError {
        line: stack.as_deref().and_then(line_of),
        message: message.chars().take(SHOWN_CHARS).collect(),
    }
}

/// The first line of the function that a stack names, as in `at function:3:7`.
fn line_of(stack: &str) -> Option<u32> {
    let (_, behind) = stack.split_once("function:")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
