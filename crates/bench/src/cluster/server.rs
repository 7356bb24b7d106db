//! One child process, ended with its owner.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::ClusterError;

/// How much of a log is shown when a server ends.
const LOG_LINES: usize = 12;

/// A running server.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    log: PathBuf,
    /// The program and its arguments.
    command: Vec<OsString>,
}

impl Server {
    /// Starts a server whose output goes to `log`.
    ///
    /// # Errors
    /// [`ClusterError::Start`] when it cannot be executed.
    pub fn spawn(name: &str, mut command: Command, log: PathBuf) -> Result<Server, ClusterError> {
        let spelt = std::iter::once(command.get_program()).chain(command.get_args());
        let spelt = spelt.map(OsString::from).collect();
        let output = File::options().create(true).append(true).open(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // Ctrl-C at the terminal reaches us alone; we end the servers when we are done.
            .process_group(0);
        // SAFETY: between fork and exec only async-signal-safe work is allowed; the closure makes
        // one prctl system call and converts its error number, without allocating or locking.
        unsafe {
            // Not even SIGKILL of this process leaves servers behind.
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let child = command.spawn().map_err(|source| ClusterError::Start {
            program: command.get_program().into(),
            source,
        })?;
        Ok(Server {
            name: name.to_owned(),
            child,
            log,
            command: spelt,
        })
    }

    /// Kills it: it has no time to do anything.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Starts it again as it was started.
    ///
    /// # Errors
    /// As [`Server::spawn`].
    pub fn start_again(&mut self) -> Result<(), ClusterError> {
        let mut spelt = self.command.iter();
        let mut command = Command::new(spelt.next().map_or_else(OsString::new, OsString::clone));
        command.args(spelt);
        *self = Server::spawn(&self.name, command, self.log.clone())?;
        Ok(())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end in order, and returns at once.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn ask_to_end(&self) -> io::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("no such process"))?;
        Ok(kill_process(pid, Signal::TERM)?)
    }

    /// Whether it has ended, and well.
    ///
    /// # Errors
    /// [`ClusterError::Exited`] when it has ended otherwise.
    pub fn has_ended(&mut self) -> Result<bool, ClusterError> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => Err(self.exited(&status)),
        }
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// [`ClusterError::Exited`] when it does not.
    pub fn check(&mut self) -> Result<(), ClusterError> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        Err(self.exited(&status))
    }

    fn exited(&self, status: &ExitStatus) -> ClusterError {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        ClusterError::Exited {
            name: self.name.clone(),
            status: status.to_string(),
            log: lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data is thrown away with it, so there is nothing to shut down in order. Both calls
        // fail only when it has already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
