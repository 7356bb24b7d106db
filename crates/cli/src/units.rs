//! Sizes, rates, latencies and delays as people write and read them.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The time of this machine's clock, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Suffixes and their factors, the larger first.
const SUFFIXES: [(&str, u64); 4] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// A number of bytes, written `65536`, `64KiB`, `16MiB`, `1GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Size {
    /// The size as a length in memory, as far as one can be that large.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong =
            || format!("{text:?} is not a size; write bytes or a number with KiB, MiB or GiB");
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = trimmed.split_at(digits);
        let factor = match suffix.trim() {
            "" | "B" => 1,
            suffix => {
                SUFFIXES
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(suffix))
                    .ok_or_else(wrong)?
                    .1
            }
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(factor).map(Size).ok_or_else(wrong)
    }
}

/// The shortest exact form, which [`Size::from_str`] reads back.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SUFFIXES
            .iter()
            .find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor))
        {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// Units of latencies and their microseconds, the larger first.
const LATENCY_UNITS: [(&str, u64); 3] = [("s", 1_000_000), ("ms", 1_000), ("us", 1)];

/// A latency in microseconds, written `500us`, `20ms`, `1s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Latency(pub u64);

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Latency, String> {
        let wrong = || format!("{text:?} is not a latency; write one as in 20ms, 500us or 1s");
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = trimmed.split_at(digits);
        let unit = LATENCY_UNITS.iter().find(|(name, _)| *name == unit.trim());
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let us = unit.and_then(|(_, factor)| number.checked_mul(*factor));
        us.filter(|us| *us > 0).map(Latency).ok_or_else(wrong)
    }
}

/// The shortest exact form, which [`Latency::from_str`] reads back.
impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = LATENCY_UNITS.iter().find(|u| self.0.is_multiple_of(u.1));
        let (name, factor) = unit.unwrap_or(&("us", 1));
        write!(f, "{}{name}", self.0 / factor)
    }
}

/// Units of delays and their milliseconds, the larger first.
const DELAY_UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1_000),
    ("ms", 1),
];
/// The longest delay, a hundred years.
const DELAY_MS_MAX: u64 = 100 * 366 * 86_400_000;

/// A delay in milliseconds, written `0s`, `500ms`, `30s`, `15min`, `1h`, `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay(pub u64);

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let wrong = || format!("{text:?} is not a delay; write one as in 30s, 15min, 1h or 7d");
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = trimmed.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        if number == 0 && unit.is_empty() {
            return Ok(Delay(0));
        }
        let unit = DELAY_UNITS.iter().find(|(name, _)| *name == unit.trim());
        let ms = unit.and_then(|(_, factor)| number.checked_mul(*factor));
        ms.filter(|ms| *ms <= DELAY_MS_MAX)
            .map(Delay)
            .ok_or_else(wrong)
    }
}

/// The shortest exact form, which [`Delay::from_str`] reads back.
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = DELAY_UNITS.iter().find(|u| self.0.is_multiple_of(u.1));
        let (name, factor) = match self.0 {
            0 => ("s", 1),
            _ => *unit.unwrap_or(&("ms", 1)),
        };
        write!(f, "{}{name}", self.0 / factor)
    }
}

/// A latency in microseconds rounded for reading, as in `2.5 ms`.
pub fn rounded_latency(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// A number of bytes rounded for reading, as in `12.3 MiB`.
pub fn rounded(bytes: f64) -> String {
    match SUFFIXES.iter().find(|(_, factor)| bytes >= *factor as f64) {
        Some((name, factor)) => format!("{:.1} {name}", bytes / *factor as f64),
        None => format!("{bytes:.0} B"),
    }
}

/// Decimal units, in which rates are given and data is counted, the larger first.
const DECIMAL_SUFFIXES: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];

/// A number of bytes in decimal units, as in `12.3 MB`.
pub fn rounded_decimal(bytes: f64) -> String {
    match DECIMAL_SUFFIXES.iter().find(|(_, factor)| bytes >= *factor) {
        Some((name, factor)) => format!("{:.1} {name}", bytes / factor),
        None => format!("{bytes:.0} B"),
    }
}

/// A time that is only about right, as in `58 s`, `12 min` or `2.4 h`.
pub fn rounded_time(seconds: f64) -> String {
    match seconds {
        ..119.5 => format!("{seconds:.0} s"),
        ..7_170.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A count with its thousands set apart, as in `63,666`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that is only about right: its first two digits, as in `64,000`.
pub fn rounded_count(count: u64) -> String {
    let digits = count.checked_ilog10().unwrap_or(0);
    let step = 10u64.pow(digits.saturating_sub(1));
    grouped((count.saturating_add(step / 2) / step).saturating_mul(step))
}

#[cfg(test)]
#[path = "units_tests.rs"]
mod tests;
