//! Standard output: a reader that goes away ends the command quietly.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Buffered standard output.
pub struct Output {
    inner: io::BufWriter<io::StdoutLock<'static>>,
}

impl Output {
    /// Takes standard output for the rest of the command.
    pub fn new() -> Output {
        Output {
            inner: io::BufWriter::new(io::stdout().lock()),
        }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.inner.write_all(bytes).map_err(failure)
    }

    /// Writes a value, nothing added; for a person a line break, where the value has none at its end.
    pub fn value(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes(bytes)?;
        match bytes.last() {
            Some(last) if *last != b'\n' && io::stdout().is_terminal() => self.bytes(b"\n"),
            _ => Ok(()),
        }
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.bytes(text.as_ref().as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes a value as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
        self.line(text)
    }

    /// Hands everything to the reader. To be called before the command succeeds.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.inner.flush().map_err(failure)
    }
}

impl Default for Output {
    fn default() -> Output {
        Output::new()
    }
}

fn failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Failed(format!("standard output: {error}")),
    }
}

/// Whether standard output may carry colours: a terminal, and `NO_COLOR` not set.
pub fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
