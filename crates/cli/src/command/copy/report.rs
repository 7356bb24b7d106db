//! What a copy did, for people, for scripts, and as a chart.

use std::path::Path;
use std::time::Duration;

use dunlin_chart::Series;
use dunlin_copy::{Check, Hex, Outcome, Settings, Target, Verified, Watch};
use serde::Serialize;

use super::sample::{Sample, Samples, Step, coefficient_of_variation};
use crate::failure::Failure;
use crate::units::{grouped, rounded_decimal};

/// The end report.
#[derive(Debug, Serialize)]
pub struct Report {
    source: String,
    target: String,
    /// `files`, `ingest`, `insert`, or `verify`.
    mode: String,
    /// What was compared: `units` by their checksums as they arrived, all `pairs`, or `nothing`.
    verified: &'static str,
    column_families: Vec<String>,
    units: usize,
    /// Units that earlier runs had sent.
    units_done_before: usize,
    pairs: u64,
    /// Bytes of keys and values, or of files.
    bytes: u64,
    wire_bytes: u64,
    /// Sum of the checksums of what was sent or compared.
    checksum: Hex,
    retries: u64,
    /// From the first unit until all is at the target, in seconds; of `verify`, of all of it.
    duration_s: f64,
    /// The part of it in which nothing was sent any more.
    finish_s: f64,
    bytes_per_s: f64,
    /// The comparison that followed, if one did.
    compared: Option<Compared>,
    /// Coefficient of variation of the samples, without those of the comparison that followed.
    bytes_per_s_cv: Option<f64>,
    /// One a second.
    samples: Vec<Sample>,
}

/// How source and keyspace were compared after all was sent.
#[derive(Debug, Serialize)]
struct Compared {
    pairs: u64,
    /// Bytes of keys and values.
    bytes: u64,
    duration_s: f64,
    bytes_per_s: f64,
}

impl Report {
    /// Of a copy.
    pub fn copied(
        settings: &Settings,
        watch: &Watch,
        outcome: &Outcome,
        samples: Samples,
        elapsed: Duration,
    ) -> Report {
        let duration = (outcome.send_time + outcome.finish_time).min(elapsed);
        let samples = samples.into_taken();
        Report {
            mode: outcome.mode.to_string(),
            column_families: outcome.column_families.clone(),
            units: outcome.units,
            units_done_before: outcome.units_done_before,
            pairs: outcome.sent.pairs,
            bytes: outcome.sent.bytes,
            wire_bytes: watch.wire_bytes(),
            checksum: Hex(outcome.sent.checksum),
            retries: watch.retries(),
            duration_s: duration.as_secs_f64(),
            finish_s: outcome.finish_time.as_secs_f64(),
            bytes_per_s: outcome.sent.bytes as f64 / duration.as_secs_f64().max(1e-6),
            bytes_per_s_cv: coefficient_of_variation(&samples, Step::Sending),
            samples,
            verified: match outcome.check {
                Check::Units => "units",
                Check::Pairs { .. } => "pairs",
                Check::Nothing => "nothing",
            },
            compared: match outcome.check {
                Check::Pairs { tally, time } => Some(Compared {
                    pairs: tally.pairs,
                    bytes: tally.bytes,
                    duration_s: time.as_secs_f64(),
                    bytes_per_s: tally.bytes as f64 / time.as_secs_f64().max(1e-6),
                }),
                Check::Units | Check::Nothing => None,
            },
            ..Report::empty(settings)
        }
    }

    /// Of a comparison that found no difference.
    pub fn verified(
        settings: &Settings,
        watch: &Watch,
        verified: &Verified,
        samples: Samples,
        elapsed: Duration,
    ) -> Report {
        let samples = samples.into_taken();
        Report {
            mode: "verify".to_owned(),
            verified: match settings.target {
                Target::Keyspace(_) => "pairs",
                Target::Directory(_) | Target::Receiver(_) => "units",
            },
            retries: watch.retries(),
            column_families: verified.column_families.clone(),
            units: verified.ranges,
            pairs: verified.tally.pairs,
            bytes: verified.tally.bytes,
            checksum: Hex(verified.tally.checksum),
            duration_s: elapsed.as_secs_f64(),
            bytes_per_s: verified.tally.bytes as f64 / elapsed.as_secs_f64().max(1e-6),
            bytes_per_s_cv: coefficient_of_variation(&samples, Step::Comparing),
            samples,
            ..Report::empty(settings)
        }
    }

    fn empty(settings: &Settings) -> Report {
        Report {
            source: settings.source.display().to_string(),
            target: settings.target.to_string(),
            mode: String::new(),
            verified: "nothing",
            column_families: Vec::new(),
            units: 0,
            units_done_before: 0,
            pairs: 0,
            bytes: 0,
            wire_bytes: 0,
            checksum: Hex::default(),
            retries: 0,
            duration_s: 0.0,
            finish_s: 0.0,
            bytes_per_s: 0.0,
            compared: None,
            bytes_per_s_cv: None,
            samples: Vec::new(),
        }
    }

    /// The report in a few lines.
    pub fn text(&self) -> String {
        let done = match self.mode.as_str() {
            "verify" => "equal",
            _ => "copied",
        };
        let mut text = format!("{done}: {}", rounded_decimal(self.bytes as f64));
        if self.pairs > 0 {
            text += &format!(" in {} pairs", grouped(self.pairs));
        }
        text += &format!(
            ", {:.1} s, {}/s ({}, {} units",
            self.duration_s,
            rounded_decimal(self.bytes_per_s),
            self.mode,
            grouped(self.units as u64)
        );
        if self.units_done_before > 0 {
            let before = grouped(self.units_done_before as u64);
            text += &format!(", {before} of them by earlier runs");
        }
        text += ")";
        if let Some(cv) = self.bytes_per_s_cv {
            text += &format!(
                "\nrate by seconds: coefficient of variation {:.1} %",
                cv * 100.0
            );
        }
        if self.retries > 0 {
            text += &format!("\n{} retries", grouped(self.retries));
        }
        text + &self.check()
    }

    /// What followed on the sending.
    fn check(&self) -> String {
        match &self.compared {
            Some(compared) => format!(
                "\nequal: {} in {} pairs, {:.1} s, {}/s (source and keyspace compared)",
                rounded_decimal(compared.bytes as f64),
                grouped(compared.pairs),
                compared.duration_s,
                rounded_decimal(compared.bytes_per_s),
            ),
            None if self.verified == "nothing" => "\nnothing was compared (--no-verify)".to_owned(),
            None => String::new(),
        }
    }

    /// Writes data and chart into a directory, made if need be.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        let failed = |path: &Path, error: std::io::Error| Failure::file(path, &error);
        std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::Failed(error.to_string()))?;
        for (name, bytes) in [
            ("copy.json", (json + "\n").into_bytes()),
            ("copy.svg", self.chart().into_bytes()),
        ] {
            let path = directory.join(name);
            std::fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// The rate over time.
    fn chart(&self) -> String {
        let megabytes = |bytes: f64| bytes / 1e6;
        let point = |sample: &Sample| (sample.at_s, megabytes(sample.bytes_per_s));
        let step = match self.mode.as_str() {
            "verify" => Step::Comparing,
            _ => Step::Sending,
        };
        let of_step = self.samples.iter().filter(|sample| sample.step == step);
        Series {
            title: format!("{} to {}, {}: MB/s", self.source, self.target, self.mode),
            points: of_step.map(point).collect(),
            mean: megabytes(self.bytes_per_s),
        }
        .render()
    }
}
