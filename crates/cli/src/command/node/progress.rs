//! A change of the members on standard error: a bar on a terminal, elsewhere a line for each range that it waits for.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dunlin_client::Change;
use indicatif::{ProgressBar, ProgressStyle};

use crate::members::{self, Progress};

/// Where there is no terminal, lines come so far apart at least: a change without trouble prints none.
const PAUSE: Duration = Duration::from_secs(5);

/// A bar over the pieces to be copied, and some lines.
pub struct Bar {
    bar: ProgressBar,
    /// Where there is no terminal, the lines printed last, and when.
    printed: Option<RefCell<(Vec<String>, Instant)>>,
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
        let is_plain = shown && !std::io::stderr().is_terminal();
        Bar {
            bar,
            printed: is_plain.then(|| RefCell::new((Vec::new(), Instant::now()))),
        }
    }

    /// Shows how far the change is.
    pub fn update(&self, change: &Change) {
        let progress = Progress::of(change);
        self.bar.set_length(progress.parts.max(1));
        self.bar.set_position(progress.parts_done);
        self.bar.set_message(members::lines(change).join("\n"));
        if let Some(printed) = &self.printed {
            let (before, at) = &mut *printed.borrow_mut();
            let now = members::ranges(change);
            if at.elapsed() >= PAUSE && now != *before {
                now.iter().for_each(|line| eprintln!("{line}"));
                (*before, *at) = (now, Instant::now());
            }
        }
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
