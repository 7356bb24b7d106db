//! `dunlin receive`: the other end of `dunlin copy`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use dunlin_copy::Receiver;

use crate::config::open_doors::{LetsIn, copy_warning};
use crate::config::secret_file::{Guarded, LOOK_EVERY as LOOK_AT_SECRETS_EVERY};
use crate::failure::Failure;
use crate::output::Output;
use crate::units::rounded_decimal;

const EXAMPLES: &str = "\
What arrives is kept in DIR/dunlin-copy.partial until all of it is there; then DIR becomes a
database in one step. Without --secret-file whoever reaches the port is let in. The secret keeps
strangers out and encrypts nothing.

Examples:
  dunlin receive /data/db
  dunlin receive --listen 0.0.0.0:7400 --secret-file secret --once /data/db";

/// Arguments of `receive`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Receive {
    /// Directory that becomes the copy; need not exist
    directory: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    listen: String,
    /// File with the secret that senders must prove; several lines: any is accepted; read again when
    /// it changes [default: none, everybody is let in]
    #[arg(long, env = "DUNLIN_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// End when a copy is whole
    #[arg(long)]
    once: bool,
    /// Nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Between two looks at what has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Between two lines about it.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Receive {
    /// What the port is guarded by, with what is to be said of it.
    fn guarded(&self) -> Result<Guarded, Failure> {
        let file = self.secret_file.as_deref();
        let lets_in = match file {
            None => LetsIn::All,
            Some(_) => LetsIn::Known,
        };
        let open = copy_warning(&self.listen, lets_in);
        let guarded = Guarded::for_copies(file)?;
        for line in open.iter().chain(&guarded.warning) {
            eprintln!("dunlin: {line}");
        }
        Ok(guarded)
    }

    /// Receives until it is stopped, or until a copy is whole.
    pub fn run(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", self.listen));
        let listener = TcpListener::bind(&self.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut guarded = self.guarded()?;
        let receiver = Receiver::new(self.directory.clone()).guarded_by(guarded.guard.clone());
        let receiver = Arc::new(receiver);
        let serving = Arc::clone(&receiver);
        let thread = std::thread::Builder::new()
            .name("accept".to_owned())
            .spawn(move || serving.serve(&listener, |line| eprintln!("dunlin: {line}")))
            .map_err(failed)?;
        let shown = self.directory.display();
        if !self.quiet {
            let mut output = Output::new();
            output.line(format!("receiving into {shown} on {address}"))?;
            output.flush()?;
        }
        let (mut told, mut told_bytes) = (Instant::now(), 0);
        let mut looked = Instant::now();
        let mut was_whole = false;
        loop {
            if thread.is_finished() {
                return Err(Failure::Failed(format!(
                    "{address}: not listening any more"
                )));
            }
            if looked.elapsed() >= LOOK_AT_SECRETS_EVERY {
                looked = Instant::now();
                if let Some((line, _)) = guarded.look() {
                    eprintln!("dunlin: {line}");
                }
            }
            let is_whole = receiver.is_whole();
            if is_whole && !was_whole && !self.quiet {
                eprintln!("{shown} is whole");
            }
            was_whole = is_whole;
            if is_whole && self.once {
                return Ok(());
            }
            let bytes = receiver.received().bytes();
            if told.elapsed() >= LINE_EVERY {
                if bytes != told_bytes && !self.quiet {
                    let rate = (bytes - told_bytes) as f64 / told.elapsed().as_secs_f64();
                    eprintln!(
                        "{} received, {}/s",
                        rounded_decimal(bytes as f64),
                        rounded_decimal(rate)
                    );
                }
                (told, told_bytes) = (Instant::now(), bytes);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
