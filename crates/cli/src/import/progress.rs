//! The progress bar on standard error; it shows only on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::import::input::Input;
use crate::import::report::Report;
use crate::units::grouped;

/// A bar over the input's bytes, or a spinner when their number is not known.
pub struct Progress {
    bar: ProgressBar,
    read_bytes: Arc<AtomicU64>,
}

impl Progress {
    /// A bar for `input`; `shown` is false for scripts.
    pub fn new(input: &Input, shown: bool) -> Progress {
        let bar = match (shown, input.size_bytes) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(size)) => ProgressBar::new(size),
            (true, None) => ProgressBar::new_spinner(),
        };
        let template = match input.size_bytes {
            Some(_) => "{bar:12} {percent:>3} %  {eta} left, {wide_msg}",
            None => "{spinner} {binary_bytes} in {elapsed}, {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress {
            bar,
            read_bytes: Arc::clone(&input.read_bytes),
        }
    }

    /// Shows how far the import is.
    pub fn update(&self, report: &Report, elapsed: Duration) {
        let rate = report.records as f64 / elapsed.as_secs_f64().max(0.001);
        self.bar
            .set_position(self.read_bytes.load(Ordering::Relaxed));
        self.bar.set_message(format!(
            "{} records, {}/s, {} malformed",
            grouped(report.records),
            grouped(rate.round() as u64),
            grouped(report.malformed)
        ));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
