//! An engine at work: it is a map or a reduce function, and answers each request. In a process of its own it ends with
//! the node, and when one call has taken its share of the processor.

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::process::ExitCode;

use bytes::{Bytes, BytesMut};
use dunlin_changes::wire::put_bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::engine::{REDUCE, Script, ScriptError};
use crate::map::Map;
use crate::message::{self, Request, put_result, put_rows};

/// The first argument of a process that is an engine.
pub const ENGINE: &str = "engine-of-a-view";

/// A call may take so many seconds of the processor, and up to one more.
const CALL_S: u64 = 2;
/// The bound is renewed after so long: one process alone uses no more of a processor than that.
const RENEW_NS: i64 = 100_000_000;

/// An engine.
#[derive(Default)]
pub(crate) struct Worker {
    function: Option<Is>,
    bound: Option<Bound>,
}

enum Is {
    Map(Box<Map>),
    Reduce(Box<Script>),
}

impl Worker {
    /// Does what a message says; the answer.
    pub fn answer(&mut self, body: Bytes) -> BytesMut {
        self.renew();
        let mut out = BytesMut::new();
        let none = || ScriptError::new("the engine has no such function");
        let request = Request::decode(body);
        let request = request.map_err(|error| ScriptError::new(error.to_string()));
        match request {
            Err(error) => put_result(&mut out, Err::<(), _>(error), |_, ()| {}),
            Ok(Request::Map(source)) => {
                let map = Map::new(&String::from_utf8_lossy(&source));
                let set = map.map(|map| self.function = Some(Is::Map(Box::new(map))));
                put_result(&mut out, set, |_, ()| {});
            }
            Ok(Request::Reduce(source)) => {
                let script = Script::new(&String::from_utf8_lossy(&source));
                let set = script.map(|script| self.function = Some(Is::Reduce(Box::new(script))));
                put_result(&mut out, set, |_, ()| {});
            }
            Ok(Request::Documents(documents)) => {
                for document in documents {
                    self.renew();
                    let rows = match &mut self.function {
                        Some(Is::Map(map)) => map.call(&document.borrow()),
                        _ => Err(none()),
                    };
                    put_result(&mut out, rows, put_rows);
                }
            }
            Ok(Request::Fold {
                keys,
                values,
                is_again,
            }) => {
                let reduced = match &mut self.function {
                    Some(Is::Reduce(script)) => fold(script, &keys, &values, is_again),
                    _ => Err(none()),
                };
                put_result(&mut out, reduced, |out, text| {
                    put_bytes(out, text.as_bytes())
                });
            }
        }
        out
    }

    fn renew(&mut self) {
        if let Some(bound) = &mut self.bound {
            bound.renew();
        }
    }
}

fn fold(
    script: &mut Script,
    keys: &[u8],
    values: &[u8],
    is_again: bool,
) -> Result<String, ScriptError> {
    let text =
        |bytes| std::str::from_utf8(bytes).map_err(|error| ScriptError::new(error.to_string()));
    let (keys, values) = (text(keys)?, text(values)?);
    script.call(|ctx| {
        let reduce: rquickjs::Function<'_> = ctx.globals().get(REDUCE)?;
        let text: rquickjs::String<'_> = reduce.call((keys, values, is_again))?;
        text.to_string()
    })
}

/// Ends the process when a call takes too long, also within what the engine itself does: nothing else can.
struct Bound {
    renewed_ns: i64,
}

impl Bound {
    fn new() -> Bound {
        // What it leaves behind would be as large as its memory.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = setrlimit(Resource::Core, none);
        // Where memory is short, it goes before the node does.
        #[allow(
            clippy::disallowed_methods,
            reason = "a setting of the process, no data"
        )]
        let _ = fs::write("/proc/self/oom_score_adj", "800");
        let mut bound = Bound {
            renewed_ns: -RENEW_NS,
        };
        bound.renew();
        bound
    }

    fn renew(&mut self) {
        let now_ns = time_ns(ClockId::Monotonic);
        if now_ns - self.renewed_ns < RENEW_NS {
            return;
        }
        self.renewed_ns = now_ns;
        let used_ns = time_ns(ClockId::ProcessCPUTime);
        let limit = Rlimit {
            current: Some(used_ns as u64 / 1_000_000_000 + 1 + CALL_S),
            maximum: getrlimit(Resource::Cpu).maximum,
        };
        let _ = setrlimit(Resource::Cpu, limit);
    }
}

fn time_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Is an engine: requests come from standard input, answers go to standard output, until there is no more to do.
pub fn work() -> ExitCode {
    let worker = Worker {
        function: None,
        bound: Some(Bound::new()),
    };
    match serve(worker, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // The node is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(mut worker: Worker, from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut from = BufReader::new(from);
    while let Some(body) = message::read(&mut from)? {
        message::write(&mut to, &worker.answer(body))?;
    }
    Ok(())
}
