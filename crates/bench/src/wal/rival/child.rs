//! Running a measuring program to its end.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// How often it is looked whether it has ended.
const POLL: Duration = Duration::from_millis(10);
/// How much of the output an error shows.
const SHOWN_BYTES: usize = 400;

/// Runs a program and returns what it printed to standard output; its output is kept in
/// `directory` meanwhile.
///
/// # Errors
/// When it cannot be run or fails, and when the user stops the run: then it is ended.
pub fn run(
    mut command: Command,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<String, BenchError> {
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
    let mut child = command
        .spawn()
        .map_err(|error| refused(error.to_string()))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(interrupted) = interrupt.sleep(POLL) {
            // It fails only when the program has just ended by itself.
            let _ = child.kill();
            child.wait()?;
            return Err(interrupted.into());
        }
    };
    let read = |path: &Path| -> std::io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    };
    if !status.success() {
        let said = read(&err)?;
        let from = said.len().saturating_sub(SHOWN_BYTES);
        let end = said.get(from..).unwrap_or_default().trim();
        return Err(refused(format!("{status}: {end}")));
    }
    Ok(read(&out)?)
}
