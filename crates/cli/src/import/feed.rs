//! Parses on a thread of its own and hands over small batches, so that neither waits for the
//! other and never more than a few batches are in memory.

use std::io;

use tokio::sync::mpsc;

use crate::import::record::{Item, Records};

/// Bytes of values in a batch; a larger record is a batch by itself.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_ITEMS: usize = 256;
const BATCHES_QUEUED: usize = 4;

/// What the thread hands over: items in the file's order, or the error that ended the input.
pub type Batch = io::Result<Vec<Item>>;

/// Starts the thread; it ends with the input, or when the receiver is dropped.
pub fn start(mut records: impl Records + Send + 'static) -> io::Result<mpsc::Receiver<Batch>> {
    let (sender, receiver) = mpsc::channel(BATCHES_QUEUED);
    std::thread::Builder::new()
        .name("import".to_owned())
        .spawn(move || {
            loop {
                let (batch, ended) = match read_batch(&mut records) {
                    Ok(batch) => batch,
                    Err(error) => {
                        // No receiver, no one to tell.
                        let _ = sender.blocking_send(Err(error));
                        return;
                    }
                };
                if (!batch.is_empty() && sender.blocking_send(Ok(batch)).is_err()) || ended {
                    return;
                }
            }
        })?;
    Ok(receiver)
}

fn read_batch(records: &mut impl Records) -> io::Result<(Vec<Item>, bool)> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while bytes < BATCH_BYTES && batch.len() < BATCH_ITEMS {
        let Some(item) = records.next()? else {
            return Ok((batch, true));
        };
        if let Item::Record(record) = &item {
            bytes += record.key.len() + record.value.len();
        }
        batch.push(item);
    }
    Ok((batch, false))
}
