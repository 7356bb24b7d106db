//! What a user writes: rates, times, targets.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use dunlin_copy::Target;

/// Bytes a second, written `100MB/s`, `1.5GiB/s`, `500KB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub u64);

/// A time, written `60s`, `500ms`, `2m`, or in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let wrong = || format!("{text:?} is not a rate; write one as in 100MB/s or 64MiB/s");
        let trimmed = text.trim();
        let (number, unit) = split(trimmed.strip_suffix("/s").unwrap_or(trimmed));
        let factor = match unit {
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = number * factor;
        (bytes >= 1.0)
            .then_some(Rate(bytes as u64))
            .ok_or_else(wrong)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("{text:?} is not a time; write one as in 60s, 500ms or 2m");
        let (number, unit) = split(text.trim());
        let factor = match unit {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        Duration::try_from_secs_f64(number * factor)
            .map(Span)
            .map_err(|_| wrong())
    }
}

fn split(text: &str) -> (&str, &str) {
    let digits = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (number, unit) = text.split_at(digits);
    (number, unit.trim())
}

/// `http://..` or `https://..` is a keyspace, `HOST:PORT` a receiver; all else is a directory, `./HOST:PORT` too.
pub fn target(text: &str) -> Result<Target, String> {
    if text.contains("://") {
        return text.parse().map(Target::Keyspace);
    }
    let is_receiver = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
    });
    Ok(if is_receiver {
        Target::Receiver(text.to_owned())
    } else {
        Target::Directory(PathBuf::from(text))
    })
}

#[cfg(test)]
#[path = "given_tests.rs"]
mod tests;
