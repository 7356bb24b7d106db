//! What an import did, for people and for scripts.

use std::time::Duration;

use serde::Serialize;

use crate::failure::Failure;
use crate::import::record::Malformed;
use crate::units::{grouped, rounded};

/// How many malformed records are named; all are counted.
const NAMED: usize = 20;

/// The end report of an import.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Records acknowledged.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Records that were left out, for the time of their values is over.
    pub expired: u64,
    /// Records that could not be read or that the server refused.
    pub malformed: u64,
    /// The first of them.
    pub malformed_first: Vec<Malformed>,
    /// Attempts that had to be made again.
    pub retries: u64,
    /// Why it ended before the input did.
    pub stopped: Option<String>,
    /// Time from the first byte to the last acknowledgement, in seconds.
    pub duration_s: f64,
    /// `records / duration_s`.
    pub records_per_s: f64,
}

impl Report {
    pub(crate) fn acknowledged(&mut self, bytes: usize) {
        self.records += 1;
        self.bytes += bytes as u64;
    }

    pub(crate) fn malformed(&mut self, malformed: Malformed) {
        self.malformed += 1;
        if self.malformed_first.len() < NAMED {
            self.malformed_first.push(malformed);
        }
    }

    pub(crate) fn finish(&mut self, elapsed: Duration) {
        self.duration_s = elapsed.as_secs_f64();
        self.records_per_s = if self.duration_s > 0.0 {
            self.records as f64 / self.duration_s
        } else {
            0.0
        };
        // Acknowledgements arrive out of order, and the server's refusals with them.
        self.malformed_first.sort_by_key(|malformed| malformed.line);
    }

    /// Whether the command has failed: it broke off, put nothing, or left something out.
    pub fn failure(&self) -> Option<Failure> {
        match (&self.stopped, self.records, self.malformed) {
            (Some(reason), ..) => Some(Failure::Failed(reason.clone())),
            (None, 0, 0) if self.expired > 0 => None,
            (None, 0, _) => Some(Failure::Failed("nothing was imported".to_owned())),
            (None, _, 0) => None,
            (None, _, malformed) => Some(Failure::Partly(format!(
                "left out, for they are malformed: {} of {} records",
                grouped(malformed),
                grouped(malformed + self.records)
            ))),
        }
    }

    /// The report in a few lines.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} records ({}) in {:.1} s: {} records/s, {}/s",
            grouped(self.records),
            rounded(self.bytes as f64),
            self.duration_s,
            grouped(self.records_per_s.round() as u64),
            rounded(if self.duration_s > 0.0 {
                self.bytes as f64 / self.duration_s
            } else {
                0.0
            }),
        );
        if self.retries > 0 {
            text.push_str(&format!(
                "\n{} attempts were made again",
                grouped(self.retries)
            ));
        }
        if self.expired > 0 {
            text.push_str(&format!(
                "\n{} left out, for the time of their values is over",
                grouped(self.expired)
            ));
        }
        if self.malformed > 0 {
            text.push_str(&format!("\n{} malformed:", grouped(self.malformed)));
            for malformed in &self.malformed_first {
                text.push_str(&format!(
                    "\n  line {}: {}",
                    malformed.line, malformed.reason
                ));
            }
            let unnamed = self.malformed - self.malformed_first.len() as u64;
            if unnamed > 0 {
                text.push_str(&format!("\n  and {} more", grouped(unnamed)));
            }
        }
        text
    }
}
