//! Progress on standard error: bars on a terminal, lines every interval anywhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dunlin_copy::Watch;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::frame::Moment;
use super::sample::Samples;

/// What is shown while a copy runs.
pub struct Display {
    shown: bool,
    interval: Duration,
    logged: Instant,
    comparing: Option<Instant>,
    bars: Option<Bars>,
}

/// Lines at the bottom of the terminal, none of which is wrapped.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Display {
    /// A display; `shown` is false for scripts.
    pub fn new(shown: bool, interval: Duration) -> Display {
        Display {
            shown,
            interval,
            logged: Instant::now(),
            comparing: None,
            bars: (shown && std::io::stderr().is_terminal()).then(Bars::default),
        }
    }

    /// Shows how far the copy is.
    pub fn update(&mut self, watch: &Watch, samples: &Samples) {
        self.notices(watch);
        let units = watch.units();
        if !self.shown || units.total == 0 {
            return;
        }
        let began = match units.compared {
            Some(_) => Some(*self.comparing.get_or_insert_with(Instant::now)),
            None => None,
        };
        let (bytes, pairs) = match units.compared {
            Some(_) => (watch.compared_bytes(), watch.compared_pairs()),
            None => (watch.bytes(), watch.pairs()),
        };
        let now = Instant::now();
        let until = units.trouble.as_ref().map_or(now, |trouble| trouble.until);
        let moment = Moment {
            units: &units,
            bytes,
            pairs,
            retries: watch.retries(),
            elapsed_s: samples.elapsed().as_secs_f64(),
            step_s: began
                .map_or(samples.elapsed(), |at| at.elapsed())
                .as_secs_f64(),
            patience_s: until.saturating_duration_since(now).as_secs_f64(),
            bytes_per_s: samples.bytes_per_s_now(),
        };
        if let Some(bars) = &mut self.bars {
            bars.show(moment.lines());
        }
        if self.logged.elapsed() >= self.interval {
            self.logged = Instant::now();
            self.say(&moment.line());
        }
    }

    /// A line that stays.
    pub fn say(&self, line: &str) {
        match &self.bars {
            _ if !self.shown => {}
            Some(bars) => bars.all.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// Takes the bars away.
    pub fn finish(&mut self, watch: &Watch) {
        self.notices(watch);
        if let Some(bars) = self.bars.take() {
            // A terminal that is gone cannot be cleared.
            let _ = bars.all.clear();
        }
    }

    fn notices(&self, watch: &Watch) {
        watch.notices().iter().for_each(|notice| self.say(notice));
    }
}

impl Bars {
    fn show(&mut self, lines: Vec<String>) {
        while self.lines.len() > lines.len() {
            if let Some(line) = self.lines.pop() {
                self.all.remove(&line);
            }
        }
        while self.lines.len() < lines.len() {
            self.lines.push(self.all.add(line()));
        }
        for (shown, line) in self.lines.iter().zip(lines) {
            if shown.message() != line {
                shown.set_message(line);
            }
        }
    }
}

/// A line that is cut where the terminal ends.
fn line() -> ProgressBar {
    let line = ProgressBar::new(0);
    match ProgressStyle::with_template("{wide_msg}") {
        Ok(style) => line.with_style(style),
        Err(_) => line,
    }
}
