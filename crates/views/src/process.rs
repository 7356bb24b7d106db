//! An engine in a process of its own: started, sent messages, replaced when a call has ended it.

use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;

use crate::engine::{Ended, EngineError};
use crate::message;
use crate::worker::ENGINE;

/// An engine that says nothing for so long is ended: it ends itself much earlier, unless something holds it.
const SILENCE: Duration = Duration::from_secs(60);
/// This program, also when another has its name by now.
const PROGRAM: &str = "/proc/self/exe";

/// The engine.
pub(crate) struct Process {
    /// The message that makes it the function it is.
    source: Bytes,
    running: Option<Running>,
}

struct Running {
    child: Child,
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Process {
    /// Starts it, and sends the source; with the answer to that.
    pub fn start(source: Bytes) -> Result<(Process, Bytes), EngineError> {
        let mut process = Process {
            source,
            running: None,
        };
        let answer = process.begin()?;
        Ok((process, answer))
    }

    fn begin(&mut self) -> Result<Bytes, EngineError> {
        let failed = |error: io::Error| EngineError::Lost(format!("it cannot be started: {error}"));
        let running = self.running.insert(Running::start().map_err(failed)?);
        match running.call(&self.source) {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let ended = self.end(&error);
                Err(EngineError::Lost(ended.unwrap_or_else(|why| why)))
            }
        }
    }

    /// Sends a message; the answer, or that the call ended the process.
    pub fn send(&mut self, body: &[u8]) -> Result<Result<Bytes, Ended>, EngineError> {
        if self.running.is_none() {
            self.begin()?;
        }
        let Some(running) = &mut self.running else {
            return Err(EngineError::Lost("it does not run".to_owned()));
        };
        match running.call(body) {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => match self.end(&error) {
                Ok(why) => Ok(Err(Ended(why))),
                Err(why) => Err(EngineError::Lost(why)),
            },
        }
    }

    /// Why a process ended: `Ok` when its call is the cause, so that it would end the next one, too.
    fn end(&mut self, error: &io::Error) -> Result<String, String> {
        let Some(mut running) = self.running.take() else {
            return Err(error.to_string());
        };
        if matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        ) {
            return Err(format!("no answer within {} s", SILENCE.as_secs()));
        }
        let status = running.child.wait().map_err(|error| error.to_string())?;
        let is = |signal: Signal| status.signal() == Some(signal.as_raw());
        let of_others = [
            Signal::KILL,
            Signal::TERM,
            Signal::INT,
            Signal::HUP,
            Signal::QUIT,
        ];
        if is(Signal::XCPU) {
            Ok("it ran for too long, in one step".to_owned())
        } else if of_others.into_iter().any(is) {
            Err(format!("somebody ended it: {status}"))
        } else {
            Ok(format!("it ended the engine: {status}"))
        }
    }
}

impl Running {
    fn start() -> io::Result<Running> {
        let (own, other) = UnixStream::pair()?;
        own.set_read_timeout(Some(SILENCE))?;
        own.set_write_timeout(Some(SILENCE))?;
        let mut command = Command::new(PROGRAM);
        // It sees nothing of this machine; its time is UTC. Signals to the node's group are not for it.
        command.arg(ENGINE).env_clear().env("TZ", "UTC");
        command.current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(other.try_clone()?));
        command.stdout(OwnedFd::from(other)).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Running {
            child,
            to: own.try_clone()?,
            from: BufReader::new(own),
        })
    }

    fn call(&mut self, body: &[u8]) -> io::Result<Bytes> {
        message::write(&mut self.to, body)?;
        let answer = message::read(&mut self.from)?;
        answer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
