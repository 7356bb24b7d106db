//! `dunlin import`: a file of records into a keyspace.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use dunlin_client::{Expires, WriteOptions};
use tokio::sync::mpsc;

use crate::connect::Target;
use crate::failure::Failure;
use crate::import::csv::Csv;
use crate::import::deb822::Deb822;
use crate::import::exported::Exported;
use crate::import::feed::{self, Batch};
use crate::import::input::Input;
use crate::import::jsonl::Jsonl;
use crate::import::load::{self, Observer, Settings};
use crate::import::progress::Progress;
use crate::import::report::Report;
use crate::output::Output;
use crate::runtime;
use crate::units::Size;

const EXAMPLES: &str = "\
What is stored under the key:
  jsonl    the line itself
  csv      a JSON object of the row, fields named by the header
  deb822   the text of the stanza
  dunlin   the value, gone when it was to be gone; a value whose time is over is left out

A malformed record is counted, named by its line in the end report, and skipped, and the exit code
is 5 then; --strict stops at it. Of several records with one key the last wins. Connection failures are tried again.

Examples:
  dunlin import --format jsonl --key id events.jsonl
  dunlin import --format csv --key isbn --keyspace books --strict books.csv
  apt-cache dumpavail | dunlin import --format deb822 --key Package
  dunlin scan --json > all.jsonl; dunlin import --format dunlin --keyspace copy all.jsonl";

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON Lines: one object a line
    Jsonl,
    /// Comma-separated values with a header row
    Csv,
    /// Debian control file: stanzas of fields
    Deb822,
    /// What scan --json prints: key, value and when it is gone
    Dunlin,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Import {
    /// File to read; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Format of the file
    #[arg(long)]
    format: Format,
    /// Field whose value is the record's key; not for dunlin, which has keys
    #[arg(
        long,
        value_name = "FIELD",
        required_if_eq_any = [("format", "jsonl"), ("format", "csv"), ("format", "deb822")]
    )]
    key: Option<String>,
    /// Stop at the first malformed record
    #[arg(long)]
    strict: bool,
    /// Puts at the same time
    #[arg(long, value_name = "N", default_value = "64")]
    concurrency: NonZeroUsize,
    /// Seconds to try a record again before giving up
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    retry_for: u64,
    /// Longest record; a longer one is malformed
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    max_record: Size,
    /// Seconds after which the values are gone
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    #[command(flatten)]
    target: Target,
    /// The end report as one JSON object, and no progress bar
    #[arg(long)]
    json: bool,
}

impl Import {
    /// Imports it. Fails when not all could be imported.
    pub fn run(self) -> Result<(), Failure> {
        let key = self.key_field()?.to_owned();
        let input = Input::open(&self.file)?;
        runtime::block_on(async move {
            let store = self.target.keyspace()?;
            let settings = Settings {
                concurrency: self.concurrency.get(),
                strict: self.strict,
                retry_for: Duration::from_secs(self.retry_for),
                write: WriteOptions {
                    quorum: self.target.quorum(),
                    expires: self.expires_in.map(Expires::InS),
                    ..WriteOptions::default()
                },
            };
            let progress = Progress::new(&input, !self.json);
            let batches = read(self.format, input, &key, self.max_record.as_usize())?;
            let mut bar = Bar { progress };
            let report = load::load(&store, batches, &settings, &mut bar).await;
            bar.progress.finish();
            let mut output = Output::new();
            if self.json {
                output.json(&report)?;
            } else {
                output.line(report.text())?;
            }
            output.flush()?;
            report.failure().map_or(Ok(()), Err)
        })
    }
}

impl Import {
    /// The field with the key, none for a format that has keys of its own.
    fn key_field(&self) -> Result<&str, Failure> {
        match (self.format, &self.key) {
            (Format::Dunlin, Some(_)) => Err(Failure::Usage(
                "--format dunlin has keys of its own: leave --key out".to_owned(),
            )),
            (Format::Dunlin, None) if self.expires_in.is_some() => Err(Failure::Usage(
                "--format dunlin says when values are gone: leave --expires-in out".to_owned(),
            )),
            (Format::Dunlin, None) => Ok(""),
            (_, Some(key)) => Ok(key),
            (_, None) => Err(Failure::Usage(
                "--key FIELD is missing: the field whose value is the record's key".to_owned(),
            )),
        }
    }
}

/// Begins to parse `input`.
pub fn read(
    format: Format,
    input: Input,
    key: &str,
    limit_bytes: usize,
) -> Result<mpsc::Receiver<Batch>, Failure> {
    let started = match format {
        Format::Jsonl => feed::start(Jsonl::new(input.reader, key, limit_bytes)),
        Format::Csv => feed::start(
            Csv::open(input.reader, key, limit_bytes)
                .map_err(|error| Failure::Failed(error.to_string()))?,
        ),
        Format::Dunlin => feed::start(Exported::new(input.reader, limit_bytes)),
        Format::Deb822 => feed::start(Deb822::new(input.reader, key, limit_bytes)),
    };
    started.map_err(|error| Failure::Failed(format!("cannot start a thread: {error}")))
}

struct Bar {
    progress: Progress,
}

impl Observer for Bar {
    fn acknowledged(&mut self, _: Vec<u8>, _: Bytes) {}

    fn progress(&mut self, report: &Report, elapsed: Duration) {
        self.progress.update(report, elapsed);
    }
}
