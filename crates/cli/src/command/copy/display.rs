//! Progress on standard error: bars on a terminal, lines every interval anywhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dunlin_copy::{Units, Watch};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::sample::Samples;
use crate::units::{grouped, rounded};

/// What is shown while a copy runs.
pub struct Display {
    shown: bool,
    interval: Duration,
    logged: Instant,
    bars: Option<Bars>,
}

struct Bars {
    all: MultiProgress,
    whole: ProgressBar,
    units: Vec<ProgressBar>,
}

impl Display {
    /// A display; `shown` is false for scripts.
    pub fn new(shown: bool, interval: Duration) -> Display {
        Display {
            shown,
            interval,
            logged: Instant::now(),
            bars: (shown && std::io::stderr().is_terminal()).then(Bars::new),
        }
    }

    /// Shows how far the copy is.
    pub fn update(&mut self, watch: &Watch, samples: &Samples) {
        self.notices(watch);
        if !self.shown || watch.units().total == 0 {
            return;
        }
        let units = watch.units();
        let line = line(watch, &units, samples);
        if let Some(bars) = &mut self.bars {
            bars.update(&units, &line);
        }
        if self.logged.elapsed() >= self.interval {
            self.logged = Instant::now();
            self.say(&format!("{:.0} s: {line}", samples.elapsed().as_secs_f64()));
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
        if self.shown {
            watch.notices().iter().for_each(|notice| self.say(notice));
        }
    }

    fn say(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.all.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }
}

/// Bytes, pairs, rates, units and time left.
fn line(watch: &Watch, units: &Units, samples: &Samples) -> String {
    let elapsed_s = samples.elapsed().as_secs_f64();
    let mean = watch.bytes() as f64 / elapsed_s.max(0.001);
    let mut line = rounded(watch.bytes() as f64);
    if watch.pairs() > 0 {
        line += &format!(", {} pairs", grouped(watch.pairs()));
    }
    line += &format!(
        ", {}/s now, {}/s mean, {} of {} units",
        rounded(samples.bytes_per_s_now()),
        rounded(mean),
        grouped(units.done as u64),
        grouped(units.total as u64)
    );
    let left = units.total_size_bytes.saturating_sub(done_bytes(units)) as f64;
    let done_here = done_bytes(units).saturating_sub(units.done_before_size_bytes) as f64;
    if let Some(compared) = units.compared {
        line += &format!(", {} of them compared", grouped(compared as u64));
    } else if units.done == units.total {
        line += ", making the target whole";
    } else if done_here > 0.0 {
        line += &format!(", {:.0} s left", elapsed_s * left / done_here);
    }
    if watch.retries() > 0 {
        line += &format!(", {} retries", grouped(watch.retries()));
    }
    line
}

/// About how many bytes on disk are done, those under way too.
fn done_bytes(units: &Units) -> u64 {
    let running = units.running.iter().flatten();
    let running: u64 = running.map(|(_, size, sent)| *size.min(sent)).sum();
    (units.done_size_bytes + running).min(units.total_size_bytes)
}

impl Bars {
    fn new() -> Bars {
        let all = MultiProgress::new();
        let whole = all.add(styled(ProgressBar::new(0), "{bar:30} {percent:>3} % {msg}"));
        Bars {
            all,
            whole,
            units: Vec::new(),
        }
    }

    fn update(&mut self, units: &Units, line: &str) {
        self.whole.set_length(units.total_size_bytes.max(1));
        self.whole.set_position(done_bytes(units));
        self.whole.set_message(line.to_owned());
        while self.units.len() < units.running.len() {
            let bar = styled(ProgressBar::new(0), "  {bar:12} {msg}");
            self.units.push(self.all.add(bar));
        }
        for (bar, running) in self.units.iter().zip(&units.running) {
            let (name, size, sent) = running.clone().unwrap_or_default();
            bar.set_length(size.max(1));
            bar.set_position(sent.min(size));
            bar.set_message(name);
        }
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
