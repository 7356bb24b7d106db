//! A child process that ends with this one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::failure::Failure;

/// Lines of a child's output that are shown when it has failed.
const TAIL_LINES: usize = 5;

/// A running child; dropping it kills it.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it prints is added to the file `log`.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Process, Failure> {
        let open = || File::options().create(true).append(true).open(log);
        let failed =
            |error: std::io::Error| Failure::Failed(format!("cannot start {name}: {error}"));
        let child = command
            .stdin(Stdio::null())
            .stdout(open().map_err(failed)?)
            .stderr(open().map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        Ok(Process {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        // It fails only for a child that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Fails when the child has ended, with the last lines it printed.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Failure::Failed(format!(
                "{} ended ({status}): {}",
                self.name,
                self.tail()
            ))),
            Err(error) => Err(Failure::Failed(format!("{}: {error}", self.name))),
        }
    }

    fn tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join(" | ")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
