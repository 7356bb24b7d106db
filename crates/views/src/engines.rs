//! Engines: where the functions of views run. In a node each has a process of its own, for what the engine does itself
//! cannot be stopped in a thread; in a simulation they run in place.

use bytes::Bytes;

use crate::engine::{Ended, EngineError, ScriptError};
use crate::map::{Document, Emitted};
use crate::message::{get_result, get_rows, of_documents, of_source};
use crate::process::Process;
use crate::worker::Worker;

/// Documents, and bytes of them, that are given to an engine at a time.
const DOCUMENTS_AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 1 << 20;

/// Where functions run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engines {
    /// In the thread that calls them: a simulation, whose time they do not take.
    InPlace,
    /// Each in a process of its own, which this very program is.
    Processes,
}

/// A function in an engine.
pub(crate) enum Engine {
    InPlace(Box<Worker>),
    Process(Process),
}

impl Engine {
    /// With the source of a map or a reduce function.
    pub fn new(engines: Engines, is_map: bool, source: &str) -> Result<Engine, EngineError> {
        let source = of_source(is_map, source);
        let (engine, mut answer) = match engines {
            Engines::InPlace => {
                let mut worker = Box::new(Worker::default());
                let answer = worker.answer(source).freeze();
                (Engine::InPlace(worker), answer)
            }
            Engines::Processes => {
                let (process, answer) = Process::start(source)?;
                (Engine::Process(process), answer)
            }
        };
        get_result(&mut answer, |_| Ok(()))??;
        Ok(engine)
    }

    /// Sends a message; the answer, or that the call ended the engine.
    pub fn send(&mut self, body: Bytes) -> Result<Result<Bytes, Ended>, EngineError> {
        match self {
            Engine::InPlace(worker) => Ok(Ok(worker.answer(body).freeze())),
            Engine::Process(process) => process.send(&body),
        }
    }
}

/// A map function in an engine.
pub(crate) struct Mapper(Engine);

impl Mapper {
    /// From its source.
    pub fn new(engines: Engines, source: &str) -> Result<Mapper, EngineError> {
        Ok(Mapper(Engine::new(engines, true, source)?))
    }

    /// Calls it with each document; the outcome of each.
    pub fn call(
        &mut self,
        documents: &[Document<'_>],
    ) -> Result<Vec<Result<Vec<Emitted>, ScriptError>>, EngineError> {
        let mut all = Vec::with_capacity(documents.len());
        let mut rest = documents;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |document: &&Document<'_>| {
                bytes += document.id.len() + document.value.len();
                bytes <= BYTES_AT_ONCE
            };
            let count = rest.iter().take(DOCUMENTS_AT_ONCE).take_while(fits).count();
            let (some, behind) = rest.split_at(count.max(1));
            self.some(some, &mut all)?;
            rest = behind;
        }
        Ok(all)
    }

    fn some(
        &mut self,
        documents: &[Document<'_>],
        all: &mut Vec<Result<Vec<Emitted>, ScriptError>>,
    ) -> Result<(), EngineError> {
        match self.0.send(of_documents(documents))? {
            Ok(mut answer) => {
                for _ in documents {
                    all.push(get_result(&mut answer, get_rows)?);
                }
            }
            // Which of them it was, each alone tells.
            Err(Ended(why)) => match documents {
                [_] => all.push(Err(ScriptError::new(why))),
                _ => {
                    for document in documents {
                        self.some(std::slice::from_ref(document), all)?;
                    }
                }
            },
        }
        Ok(())
    }
}
