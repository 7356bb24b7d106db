//! `dunlin copy`: a RocksDB database to a directory, to another machine or into a keyspace.

mod display;
mod frame;
mod given;
mod interrupt;
mod report;
mod sample;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use dunlin_copy::{CopyError, Outcome, Settings, Target, Verified, Watch};

use crate::config::secret_file::Guarded;
use crate::failure::Failure;
use crate::login::Login;
use crate::output::Output;
use crate::trust::Trust;
use crate::units::Size;
use display::Display;
pub use given::{Rate, Span};
use report::Report;
use sample::Samples;

const EXAMPLES: &str = "\
SOURCE may be in use: a checkpoint of it is made with hard links, and removed at the end. TARGET is
a directory, HOST:PORT of `dunlin receive`, or http://HOST:PORT[,http://HOST:PORT..]/NAME, a
keyspace of a running cluster. A copy that was broken off, by either side, goes on when the same
command is run again. A directory can be opened once it is whole, not before.

Into a keyspace go the pairs of one column family (default, or the one that --cf names), many in
one request and through the cluster's log like any write; then source and keyspace are compared,
pair by pair, unless --no-verify is given. It must exist and be empty; with --merge the copy's values win and
other keys stay. It can be read all the time; until the command ends with exit code 0 it may hold
only a part. Into a directory or to a receiver each range is compared by its checksum on its way.

Modes:
  files    the tables themselves travel, checked by their checksums: into an empty target
  ingest   sorted ranges become tables at the target: into a database that has data (--merge),
           for some column families, or with another compression
  insert   pairs are inserted one by one, the log off

Examples:
  dunlin copy /var/lib/app/db /backup/db
  dunlin receive --listen 0.0.0.0:7400 --secret-file secret /data/db    on the other machine
  dunlin copy /var/lib/app/db other:7400 --secret-file secret --limit 100MB/s --report copy-report
  dunlin copy /var/lib/app/db other:7400 --verify-only
  dunlin keyspace create birds
  dunlin copy /var/lib/app/db http://127.0.0.1:8080/birds";

/// How the data travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The tables themselves
    Files,
    /// Sorted ranges that become tables
    Ingest,
    /// Pairs that are inserted
    Insert,
}

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compression {
    /// None
    None,
    /// Little work
    Lz4,
    /// More work, fewer bytes
    Zstd,
}

/// Arguments of `copy`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Copy {
    /// Directory of the database
    source: PathBuf,
    /// Directory, HOST:PORT of a receiver, or http://HOST:PORT/NAME or https:// of a keyspace
    #[arg(value_parser = given::target)]
    target: Target,
    /// How the data travels; without it, what the target needs
    #[arg(long)]
    mode: Option<Mode>,
    /// Column family to copy, may be repeated; without it, all
    #[arg(long, value_name = "NAME")]
    cf: Vec<String>,
    /// Add to the database or keyspace at the target
    #[arg(long)]
    merge: bool,
    /// Remove the database at the target
    #[arg(long, conflicts_with = "merge")]
    replace: bool,
    /// Connections, each with its own reader and writer
    #[arg(long, value_name = "N", default_value = "4")]
    connections: NonZeroUsize,
    /// Compression on the wire
    #[arg(long, value_name = "CODEC", default_value = "none")]
    compress: Compression,
    /// Compression of tables that the target writes (modes ingest and insert)
    #[arg(long, value_name = "CODEC", default_value = "lz4")]
    table_compression: Compression,
    /// The most to send in a second, as in 100MB/s
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// How long a lost connection is tried again
    #[arg(long, value_name = "TIME", default_value = "60s")]
    retry_for: Span,
    /// Time between two lines about progress
    #[arg(long, value_name = "TIME", default_value = "10s")]
    interval: Span,
    /// Size of a range, which is what a broken copy sends again [default: 64MiB, and 128MiB where
    /// nodes take pairs over as files]
    #[arg(long, value_name = "SIZE")]
    range_size: Option<Size>,
    /// File with the secret of the receiver; the first line proves it
    #[arg(long, env = "DUNLIN_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Directory of SOURCE's write-ahead log (its wal_dir); without it, SOURCE
    #[arg(long, value_name = "DIR")]
    wal_dir: Option<PathBuf>,
    /// Directory for the checkpoint; without it, beside SOURCE
    #[arg(long, value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Compare source and target, copy nothing; with --merge a keyspace may hold more
    #[arg(long, conflicts_with_all = ["replace", "mode"])]
    verify_only: bool,
    /// Do not compare source and keyspace after all is sent; what an interrupted run noted as sent is
    /// believed
    #[arg(long, conflicts_with = "verify_only")]
    no_verify: bool,
    /// Write copy.json and copy.svg, the rate over time, into this directory
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    login: Login,
    /// Nothing but errors
    #[arg(long)]
    quiet: bool,
    /// The end report as one JSON object, and no progress
    #[arg(long)]
    json: bool,
}

/// What was done.
enum Done {
    Copied(Outcome),
    Verified(Verified),
}

impl Copy {
    /// Copies or compares. Fails when the target is not whole, or not equal.
    pub fn run(self) -> Result<(), Failure> {
        let settings = self.settings()?;
        let watch = Watch::default();
        let mut samples = Samples::start();
        let mut display = Display::new(!self.quiet && !self.json, self.interval.0);
        let began = Instant::now();
        let verify_only = self.verify_only;
        let done = std::thread::scope(|scope| {
            let (ended, end) = channel();
            let (settings, watch) = (&settings, &watch);
            scope.spawn(move || {
                // Whoever waits for it is the scope's owner and there.
                let _ = ended.send(act(settings, watch, verify_only));
            });
            let asked = interrupt::listen();
            loop {
                if asked.try_recv().is_ok() {
                    watch.stop();
                    display.say("stopping; Ctrl-C again ends it at once");
                }
                match end.recv_timeout(Duration::from_millis(100)) {
                    Ok(done) => return done,
                    Err(RecvTimeoutError::Timeout) => {
                        samples.look(watch);
                        display.update(watch, &samples);
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Failure::Failed(
                            "the copy ended without a result".to_owned(),
                        ));
                    }
                }
            }
        });
        let elapsed = began.elapsed();
        display.finish(&watch);
        let report = match done? {
            Done::Copied(outcome) => Report::copied(&settings, &watch, &outcome, samples, elapsed),
            Done::Verified(verified) => {
                Report::verified(&settings, &watch, &verified, samples, elapsed)
            }
        };
        if let Some(directory) = &self.report {
            report.write(directory)?;
        }
        let mut output = Output::new();
        if self.json {
            output.json(&report)?;
        } else if !self.quiet {
            output.line(report.text())?;
        }
        output.flush()
    }

    /// The target: where it is a keyspace, with the files of TLS, and for a user where one is named.
    fn target(&self) -> Result<Target, Failure> {
        let Target::Keyspace(address) = &self.target else {
            return Ok(self.target.clone());
        };
        let address = address.clone().over_tls(self.trust.files()?);
        let credentials = self.login.read(&address.servers())?;
        Ok(Target::Keyspace(match credentials {
            None => address,
            Some(credentials) => address.as_user(credentials),
        }))
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::new(self.source.clone(), self.target()?);
        settings.mode = self.mode.map(|mode| match mode {
            Mode::Files => dunlin_copy::Mode::Files,
            Mode::Ingest => dunlin_copy::Mode::Ingest,
            Mode::Insert => dunlin_copy::Mode::Insert,
        });
        settings.onto = match (self.merge, self.replace) {
            (true, _) => dunlin_copy::Onto::Merge,
            (_, true) => dunlin_copy::Onto::Replace,
            _ => dunlin_copy::Onto::Empty,
        };
        settings.is_compared = !self.no_verify;
        settings.column_families.clone_from(&self.cf);
        settings.connections = self.connections.get();
        settings.compression = self.compress.into();
        settings.table_compression = self.table_compression.into();
        settings.limit_bytes_per_s = self.limit.map(|rate| rate.0);
        settings.retry_for = self.retry_for.0;
        settings.range_bytes = self.range_size.map(|size| size.0);
        settings.log_directory.clone_from(&self.wal_dir);
        settings
            .checkpoint_directory
            .clone_from(&self.checkpoint_dir);
        if self.secret_file.is_some() && !matches!(self.target, Target::Receiver(_)) {
            return Err(Failure::Usage(
                "--secret-file is for HOST:PORT of a receiver: leave it out".to_owned(),
            ));
        }
        let guarded = Guarded::for_copies(self.secret_file.as_deref())?;
        if let Some(warning) = &guarded.warning {
            eprintln!("dunlin: {warning}");
        }
        settings.guard = guarded.guard;
        Ok(settings)
    }
}

fn act(settings: &Settings, watch: &Watch, verify_only: bool) -> Result<Done, Failure> {
    let done = if verify_only {
        dunlin_copy::verify(settings, watch).map(Done::Verified)
    } else {
        dunlin_copy::copy(settings, watch).map(Done::Copied)
    };
    done.map_err(Failure::from)
}

impl From<Compression> for dunlin_copy::Compression {
    fn from(given: Compression) -> dunlin_copy::Compression {
        match given {
            Compression::None => dunlin_copy::Compression::None,
            Compression::Lz4 => dunlin_copy::Compression::Lz4,
            Compression::Zstd => dunlin_copy::Compression::Zstd,
        }
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Failure {
        match error {
            CopyError::NoKeyspace { .. } => Failure::NotFound(error.to_string()),
            error => Failure::Failed(error.to_string()),
        }
    }
}
