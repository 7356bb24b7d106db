//! A change of the members on standard error; it shows only on a terminal.

use std::time::Duration;

use dunlin_client::Change;
use indicatif::{ProgressBar, ProgressStyle};

use crate::members::{self, Progress};

/// A bar over the pieces to be copied, and some lines.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar; `shown` is false for scripts.
    pub fn new(shown: bool) -> Bar {
        let bar = if shown {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {elapsed}, {msg}") {
            bar.set_style(style);
        }
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Bar { bar }
    }

    /// Shows how far the change is.
    pub fn update(&self, change: &Change) {
        let progress = Progress::of(change);
        self.bar.set_length(progress.parts.max(1));
        self.bar.set_position(progress.parts_done);
        self.bar.set_message(members::lines(change).join("\n"));
    }

    /// Shows why nothing is known at present.
    pub fn trouble(&self, line: &str) {
        self.bar.set_message(line.to_owned());
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
