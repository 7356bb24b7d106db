//! Batches of events for a command, one run of it each.

use std::process::Stdio;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_client::Event;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::sleep;

use crate::failure::Failure;

/// Runs that may fail one after the other.
const TRIES: u32 = 6;
/// The pause behind the first; each is twice as long as the one before it.
const PAUSE: Duration = Duration::from_millis(500);

/// A command, and the batch that it gets next.
pub struct Exec {
    command: String,
    batch: BytesMut,
    has_changes: bool,
    /// It tells of snapshots, without any change so far.
    has_snapshots: bool,
    token: Option<String>,
}

impl Exec {
    /// A shell runs it.
    pub fn new(command: String) -> Exec {
        Exec {
            command,
            batch: BytesMut::new(),
            has_changes: false,
            has_snapshots: false,
            token: None,
        }
    }

    /// All before it has been taken by the command.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Takes an event. A batch ends where there is a token; one without changes is not run, and what it says of
    /// snapshots stands at the beginning of the next.
    pub async fn take(&mut self, event: &Event, line: &Bytes) -> Result<(), Failure> {
        match event {
            Event::Change(_) | Event::Dropped => self.has_changes = true,
            Event::SnapshotBegins { .. } | Event::SnapshotEnds { .. } => self.has_snapshots = true,
            _ => {}
        }
        self.batch.put_slice(line);
        self.batch.put_u8(b'\n');
        let is_last = matches!(event, Event::End { .. } | Event::Dropped);
        if event.token().is_none() && !is_last {
            return Ok(());
        }
        if self.has_snapshots && !self.has_changes && !is_last {
            return Ok(());
        }
        let batch = self.batch.split();
        self.has_snapshots = false;
        if std::mem::take(&mut self.has_changes) {
            self.run(&batch).await?;
        }
        self.token = event.token().map(str::to_owned).or(self.token.take());
        Ok(())
    }

    async fn run(&self, batch: &[u8]) -> Result<(), Failure> {
        let mut pause = PAUSE;
        for tries in 1.. {
            let failed = match self.try_once(batch).await {
                Ok(None) => return Ok(()),
                Ok(Some(status)) => status,
                Err(error) => error.to_string(),
            };
            if tries == TRIES {
                return Err(Failure::Failed(format!(
                    "--exec failed {TRIES} times for one batch ({failed}): mend {:?} and go on from the token",
                    self.command
                )));
            }
            eprintln!(
                "dunlin: --exec failed ({failed}), again in {} ms",
                pause.as_millis()
            );
            sleep(pause).await;
            pause *= 2;
        }
        Ok(())
    }

    /// `None` where it took the batch, else how it ended.
    async fn try_once(&self, batch: &[u8]) -> std::io::Result<Option<String>> {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that ends without reading all says by its exit code whether that was enough.
            drop(stdin.write_all(batch).await);
        }
        let status = child.wait().await?;
        Ok((!status.success()).then(|| status.to_string()))
    }
}
