//! What is shown of a copy at a moment, in words. Pure.

use dunlin_copy::{Key, Running, Unit, Units};

use crate::units::{grouped, rounded_decimal, rounded_time};

/// Cells of a bar.
const BAR: usize = 12;
/// Characters of a key that are shown.
const KEY: usize = 18;

/// What there is to show.
pub struct Moment<'a> {
    /// How far the units are.
    pub units: &'a Units,
    /// Bytes of keys and values, or of files, of the step that is under way.
    pub bytes: u64,
    /// Its pairs.
    pub pairs: u64,
    /// Attempts that were made again.
    pub retries: u64,
    /// Seconds since the first unit was begun.
    pub elapsed_s: f64,
    /// Seconds since the step that is under way was begun.
    pub step_s: f64,
    /// Seconds for which what fails at present is still tried again.
    pub patience_s: f64,
    /// Bytes a second over the last few seconds.
    pub bytes_per_s: f64,
}

impl Moment<'_> {
    /// For a terminal: where it stands, what was done, and each unit under way. Short lines, the
    /// important first, so that nothing is lost on a narrow one.
    pub fn lines(&self) -> Vec<String> {
        let fraction = self.fraction();
        let percent = (fraction * 100.0).floor();
        let stands = self.stands().join(", ");
        let mut lines = vec![
            format!("{} {percent:>3} %  {stands}", bar(fraction)),
            self.done().join(", "),
        ];
        let slots = &self.units.running;
        let left = self.units.total.saturating_sub(self.settled());
        // At the end there are fewer units than connections: no empty lines for those.
        let shown: Vec<&Option<Running>> = if left < slots.len() {
            slots.iter().filter(|slot| slot.is_some()).collect()
        } else {
            slots.iter().collect()
        };
        let unit = |slot: &Option<Running>| slot.as_ref().map_or_else(String::new, unit_line);
        lines.extend(shown.into_iter().map(unit));
        lines
    }

    /// For a log.
    pub fn line(&self) -> String {
        let percent = (self.fraction() * 100.0).floor();
        let mut stands = self.stands();
        let step = stands.remove(0);
        let parts = [vec![format!("{step} {percent} %")], self.done(), stands];
        format!("{:.0} s: {}", self.elapsed_s, parts.concat().join(", "))
    }

    fn done(&self) -> Vec<String> {
        let mean = self.bytes as f64 / self.step_s.max(0.001);
        let mut parts = vec![rounded_decimal(self.bytes as f64)];
        if self.pairs > 0 {
            parts.push(format!("{} pairs", grouped(self.pairs)));
        }
        parts.push(format!("{}/s now", rounded_decimal(self.bytes_per_s)));
        parts.push(format!("{}/s mean", rounded_decimal(mean)));
        parts
    }

    fn stands(&self) -> Vec<String> {
        let units = self.units;
        let is_sent = units.compared.is_none() && units.done == units.total;
        let step = match units.compared {
            Some(_) => "comparing",
            None if is_sent => "making the target whole",
            None => "sending",
        };
        let mut parts = vec![step.to_owned()];
        if let Some(trouble) = &units.trouble {
            let left = rounded_time(self.patience_s);
            parts.push(format!("trying again for {left}: {}", trouble.reason));
        } else if let Some(left) = self.left_s().filter(|_| !is_sent) {
            parts.push(format!("{} left", rounded_time(left)));
        }
        let kind = match units.running.iter().flatten().next() {
            Some(Running {
                unit: Unit::Part(_),
                ..
            }) => "files",
            Some(Running {
                unit: Unit::Range(_),
                ..
            }) => "ranges",
            None => "units",
        };
        let (settled, total) = (grouped(self.settled() as u64), grouped(units.total as u64));
        parts.push(format!("{settled} of {total} {kind}"));
        match self.retries {
            0 => {}
            1 => parts.push("1 retry".to_owned()),
            more => parts.push(format!("{} retries", grouped(more))),
        }
        parts
    }

    /// Units that are through, of the step that is under way.
    fn settled(&self) -> usize {
        let compared = self.units.compared.map(|compared| compared.units);
        compared.unwrap_or(self.units.done)
    }

    /// About how many bytes on disk are through, those under way too.
    fn settled_bytes(&self) -> u64 {
        let running = self.units.running.iter().flatten();
        let running: u64 = running.map(|r| r.bytes.min(r.unit.size_bytes())).sum();
        let compared = self.units.compared.map(|compared| compared.size_bytes);
        let settled = compared.unwrap_or(self.units.done_size_bytes) + running;
        settled.min(self.units.total_size_bytes)
    }

    fn fraction(&self) -> f64 {
        if self.settled() == self.units.total {
            1.0
        } else {
            self.settled_bytes() as f64 / self.units.total_size_bytes.max(1) as f64
        }
    }

    /// Seconds to the end of the step that is under way, if it goes on like this.
    fn left_s(&self) -> Option<f64> {
        let before = match self.units.compared {
            Some(_) => 0,
            None => self.units.done_before_size_bytes,
        };
        let settled = self.settled_bytes();
        let here = settled.saturating_sub(before) as f64;
        let left = self.units.total_size_bytes.saturating_sub(settled) as f64;
        (here > 0.0).then(|| self.step_s * left / here)
    }
}

fn unit_line(running: &Running) -> String {
    let size = running.unit.size_bytes();
    let fraction = (running.bytes as f64 / size.max(1) as f64).min(1.0);
    let percent = (fraction * 100.0).floor();
    let size = rounded_decimal(size as f64);
    let name = name(&running.unit);
    format!("  {} {percent:>3} % of {size}  {name}", bar(fraction))
}

/// What a unit is, briefly: ranges follow on each other, so the first key is enough.
fn name(unit: &Unit) -> String {
    let Unit::Range(range) = unit else {
        return unit.to_string();
    };
    let from = match &range.start {
        Some(key) => format!("from {}", shown(key)),
        None => "from the first key".to_owned(),
    };
    match range.column_family.as_str() {
        "default" => from,
        name => format!("{name} {from}"),
    }
}

/// A key as text where it is text, else in hexadecimal digits; the beginning of a long one.
fn shown(key: &Key) -> String {
    let is_text = key.0.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let text = if is_text {
        String::from_utf8_lossy(&key.0).into_owned()
    } else {
        let digits = key.0.iter().take(KEY).map(|byte| format!("{byte:02x}"));
        format!("0x{}", digits.collect::<String>())
    };
    if text.len() > KEY {
        format!("{}..", &text[..KEY])
    } else {
        text
    }
}

fn bar(fraction: f64) -> String {
    let full = ((fraction * BAR as f64) as usize).min(BAR);
    "█".repeat(full) + &"░".repeat(BAR - full)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
