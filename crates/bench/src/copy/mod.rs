//! Paper 000: copying a database, by Dunlin and by what there is besides.
//!
//! - [`plan`]: how much is measured; [`program`]: what of it is installed
//! - [`source`]: the databases; [`files`]: their files
//! - [`way`]: ways to copy, and what bounds them; [`mod@run`]: one copy measured; [`rate`]: over time
//! - [`case`]: a source in every way; [`setting`]: one mode with other settings
//! - [`target`]: what was to be reached; [`report`]: tables and charts

use std::path::PathBuf;

use tempfile::TempDir;

use crate::error::BenchError;
use crate::host::machine::{Machine, revision};
use crate::interrupt::Interrupt;
use crate::options::CopyOptions;
use crate::progress::Progress;

pub mod case;
pub mod files;
pub mod plan;
pub mod program;
pub mod rate;
pub mod report;
pub mod run;
#[cfg(test)]
pub mod samples;
pub mod setting;
pub mod source;
pub mod target;
pub mod way;

use plan::{Plan, VARIED_VALUE_BYTES};
use program::Programs;
use report::model::Report;
use run::Run;
use source::Source;

/// What every part of the run needs.
#[derive(Debug)]
pub struct Session {
    quick: bool,
    keep: bool,
    plan: Plan,
    programs: Programs,
    /// Everything written lies below; removed with the session unless sources are kept.
    scratch: TempDir,
    data: PathBuf,
    interrupt: Interrupt,
    progress: Progress,
}

impl Session {
    /// A session of what the flags ask for.
    ///
    /// # Errors
    /// When a program is missing, or the data directory cannot be written.
    pub fn new(options: &CopyOptions, interrupt: Interrupt) -> Result<Session, BenchError> {
        let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = tempfile::Builder::new()
            .prefix("dunlin-bench-copy-")
            .disable_cleanup(options.keep)
            .tempdir_in(&data)
            .map_err(files::at(&data))?;
        Ok(Session {
            quick: options.quick,
            keep: options.keep,
            plan: Plan::of(options),
            programs: Programs::find(options.dunlin.as_deref())?,
            scratch,
            data,
            interrupt,
            progress: Progress::start(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where every copy goes.
    fn target(&self) -> PathBuf {
        self.scratch.path().join("target")
    }

    /// Whether everything that is to be made will find room.
    fn check_room(&self) -> Result<(), BenchError> {
        let (needed, free) = (
            self.plan.room_bytes(self.keep),
            files::free_bytes(&self.data)?,
        );
        if free < needed {
            Err(BenchError::NoSpace {
                path: self.data.clone(),
                needed,
                free,
            })
        } else {
            Ok(())
        }
    }

    /// Removes the last copy, and waits until the disk is idle.
    fn begin_afresh(&self) -> Result<(), BenchError> {
        self.interrupt.check()?;
        files::remove(&self.target(), self.scratch.path())
    }

    fn say_run(&self, source: &Source, name: &str, (round, of): (usize, usize), run: &Run) {
        self.progress.say(&format!(
            "values of {} B, round {} of {}: {name}: {:.0} MB/s, {:.2} s",
            source.holds.value_bytes,
            round + 1,
            of,
            run.bytes_per_s / 1e6,
            run.duration_s
        ));
    }
}

/// Carries out the whole run. `date_utc` and `command_line` are for the report.
///
/// # Errors
/// When a program fails, when a copy is not what was copied, when the disk is full, or when the
/// user stops the run.
pub fn run(session: &Session, date_utc: &str, command_line: &str) -> Result<Report, BenchError> {
    let plan = &session.plan;
    session.check_room()?;
    let (mut cases, mut settings) = (Vec::new(), Vec::new());
    for &value_bytes in &plan.value_bytes {
        let source = Source::make(session, plan.size_bytes, value_bytes)?;
        cases.push(case::measure(session, &source, plan.repeats)?);
        if value_bytes == VARIED_VALUE_BYTES {
            settings = setting::measure(session, &source)?;
        }
    }
    let long = match plan.long_size_bytes {
        0 => None,
        size_bytes => {
            let source = Source::make(session, size_bytes, VARIED_VALUE_BYTES)?;
            Some(case::measure(session, &source, plan.long_repeats)?)
        }
    };
    if session.keep {
        let at = session.scratch.path().display();
        session.progress.say(&format!("the sources are in {at}"));
    }
    let targets = target::evaluate(&cases, long.as_ref(), &settings);
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: session.quick,
        machine: Machine::describe(&session.data),
        revision: revision(),
        programs: session.programs.clone(),
        plan: plan.clone(),
        targets,
        cases,
        long,
        settings,
        wall_s: session.progress.elapsed().as_secs_f64(),
    })
}
