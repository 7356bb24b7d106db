//! Puts records into a keyspace, many at a time, each until it is acknowledged.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_client::{ClientError, Expires, Keyspace, WriteOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::import::feed::Batch;
use crate::import::record::{Item, Malformed, Record};
use crate::import::report::Report;
use crate::units::now_ms;

/// Bytes of values on their way at the same time, in KiB: many large ones must not fill memory.
const IN_FLIGHT_KIB: u32 = 64 << 10;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How to put.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Puts at the same time.
    pub concurrency: usize,
    /// Stop at the first malformed record.
    pub strict: bool,
    /// How long one record is tried again before the import gives up.
    pub retry_for: Duration,
    /// Acknowledgements and expiry of each put.
    pub write: WriteOptions,
}

/// Who is told about what happens, in the order it happens.
pub trait Observer {
    /// A record was acknowledged. Of records with the same key the last of the file comes last.
    fn acknowledged(&mut self, key: Vec<u8>, value: Bytes);
    /// The report has changed.
    fn progress(&mut self, report: &Report, elapsed: Duration);
}

struct Put {
    line: u64,
    key: Vec<u8>,
    value: Bytes,
    expires_at_ms: Option<u64>,
    retries: u64,
    result: Result<(), ClientError>,
}

struct Loader<'a> {
    store: &'a Keyspace,
    settings: &'a Settings,
    observer: &'a mut dyn Observer,
    report: Report,
    puts: JoinSet<Put>,
    keys: HashSet<Vec<u8>>,
    room: Arc<Semaphore>,
    began: Instant,
}

/// Puts everything that `batches` brings. Failures are in the report.
pub async fn load(
    store: &Keyspace,
    mut batches: mpsc::Receiver<Batch>,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Report {
    let mut loader = Loader {
        store,
        settings,
        observer,
        report: Report::default(),
        puts: JoinSet::new(),
        keys: HashSet::new(),
        room: Arc::new(Semaphore::new(IN_FLIGHT_KIB as usize)),
        began: Instant::now(),
    };
    'input: while let Some(batch) = loader.receive(&mut batches).await {
        match batch {
            Ok(items) => {
                for item in items {
                    loader.item(item).await;
                    if loader.report.stopped.is_some() {
                        break 'input;
                    }
                }
            }
            Err(error) => loader.report.stopped = Some(format!("reading the input: {error}")),
        }
    }
    while loader.settle_one().await {}
    loader.report.finish(loader.began.elapsed());
    loader.report
}

impl Loader<'_> {
    /// The next batch; puts are settled while it is waited for.
    async fn receive(&mut self, batches: &mut mpsc::Receiver<Batch>) -> Option<Batch> {
        loop {
            if self.report.stopped.is_some() {
                return None;
            }
            tokio::select! {
                biased;
                Some(put) = self.puts.join_next() => self.settle(put.ok()),
                batch = batches.recv() => return batch,
            }
        }
    }

    async fn item(&mut self, item: Item) {
        match item {
            Item::Record(record) if is_over(record.expires_at_ms) => self.report.expired += 1,
            Item::Record(record) => self.start(record).await,
            Item::Malformed(malformed) => self.malformed(malformed),
        }
    }

    async fn start(&mut self, record: Record) {
        // The order of two puts of one key would be the network's; the file's is wanted.
        while self.puts.len() >= self.settings.concurrency || self.keys.contains(&record.key) {
            if !self.settle_one().await || self.report.stopped.is_some() {
                return;
            }
        }
        let size_kib = u32::try_from(record.value.len() >> 10)
            .unwrap_or(u32::MAX)
            .clamp(1, IN_FLIGHT_KIB);
        let Some(room) = self.room(size_kib).await else {
            return;
        };
        self.keys.insert(record.key.clone());
        let (store, settings) = (self.store.clone(), self.settings.clone());
        self.puts.spawn(put(store, settings, record, room));
    }

    async fn room(&mut self, size_kib: u32) -> Option<OwnedSemaphorePermit> {
        loop {
            match Arc::clone(&self.room).try_acquire_many_owned(size_kib) {
                Ok(permit) => return Some(permit),
                Err(_) if self.settle_one().await && self.report.stopped.is_none() => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for one put to end; `false` when there is none.
    async fn settle_one(&mut self) -> bool {
        match self.puts.join_next().await {
            Some(put) => {
                self.settle(put.ok());
                true
            }
            None => false,
        }
    }

    fn settle(&mut self, put: Option<Put>) {
        let Some(put) = put else {
            self.report
                .stopped
                .get_or_insert_with(|| "a put ended without a result".to_owned());
            return;
        };
        self.keys.remove(&put.key);
        self.report.retries += put.retries;
        match put.result {
            Ok(()) => {
                self.report.acknowledged(put.key.len() + put.value.len());
                self.observer.acknowledged(put.key, put.value);
            }
            // It was over on its way.
            Err(ClientError::Refused { .. }) if is_over(put.expires_at_ms) => {
                self.report.expired += 1;
            }
            Err(ClientError::Refused { status, message }) => self.malformed(Malformed {
                line: put.line,
                reason: format!("refused by the server ({status}): {message}"),
            }),
            Err(error) => {
                self.report
                    .stopped
                    .get_or_insert_with(|| format!("line {}: {error}", put.line));
            }
        }
        self.observer.progress(&self.report, self.began.elapsed());
    }

    fn malformed(&mut self, malformed: Malformed) {
        if self.settings.strict {
            let reason = format!("line {}: {} (--strict)", malformed.line, malformed.reason);
            self.report.stopped.get_or_insert(reason);
        }
        self.report.malformed(malformed);
    }
}

async fn put(
    store: Keyspace,
    settings: Settings,
    record: Record,
    room: OwnedSemaphorePermit,
) -> Put {
    let Record {
        line,
        key,
        value,
        expires_at_ms,
    } = record;
    let value = Bytes::from(value);
    let write = WriteOptions {
        expires: expires_at_ms.map(Expires::AtMs).or(settings.write.expires),
        ..settings.write.clone()
    };
    let mut retries = 0;
    let mut pause = FIRST_PAUSE;
    let mut deadline = None;
    let result = loop {
        match store.put(&key, value.clone(), &write).await {
            Ok(_) => break Ok(()),
            Err(error) if error.is_retryable() => {
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + settings.retry_for) {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
        retries += 1;
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    drop(room);
    Put {
        line,
        key,
        value,
        expires_at_ms,
        retries,
        result,
    }
}

/// Whether the time of a value is over.
fn is_over(expires_at_ms: Option<u64>) -> bool {
    expires_at_ms.is_some_and(|ms| ms <= now_ms())
}
