//! Running a measuring program to its end.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// How often it is looked at while it runs.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// How much of the output an error shows.
const SHOWN_BYTES: usize = 400;

/// A program that has run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What it printed to standard output.
    pub printed: String,
    /// From its start to its end.
    pub elapsed: Duration,
}

/// Runs a program and returns what it printed to standard output; its output is kept in
/// `directory` meanwhile.
///
/// # Errors
/// As [`run_watched`].
pub fn run(
    command: Command,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<String, BenchError> {
    Ok(run_watched(command, directory, interrupt, |_| ())?.printed)
}

/// The same, and `look` is called with its process id every 20 ms while it runs.
///
/// # Errors
/// When it cannot be run or fails, and when the user stops the run: then it is ended.
pub fn run_watched(
    mut command: Command,
    directory: &Path,
    interrupt: &Interrupt,
    look: impl FnMut(u32),
) -> Result<Ended, BenchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let refused = |why: String| BenchError::Rival {
        program: program.clone(),
        why,
    };
    let (out, err) = (directory.join("stdout"), directory.join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        // Ctrl-C at the terminal reaches us alone; we end it.
        .process_group(0);
    let began = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| refused(error.to_string()))?;
    if let Err(error) = wait(&child, interrupt, look) {
        // It fails only when the program has just ended by itself.
        let _ = child.kill();
        child.wait()?;
        return Err(error);
    }
    let elapsed = began.elapsed();
    let status = child.wait()?;
    let read = |path: &Path| -> std::io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    };
    if !status.success() {
        let said = read(&err)?;
        let from = said.len().saturating_sub(SHOWN_BYTES);
        let end = said.get(from..).unwrap_or_default().trim();
        return Err(refused(format!("{status}: {end}")));
    }
    Ok(Ended {
        printed: read(&out)?,
        elapsed,
    })
}

/// Waits until it has ended, without taking its status: until that is taken its id stays its own.
fn wait(child: &Child, interrupt: &Interrupt, mut look: impl FnMut(u32)) -> Result<(), BenchError> {
    let watched = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let watched = watched.map_err(std::io::Error::from)?;
    loop {
        look(child.id());
        let mut ends = [PollFd::new(&watched, PollFlags::IN)];
        match poll(&mut ends, Some(&LOOK_EVERY)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
        interrupt.check()?;
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
