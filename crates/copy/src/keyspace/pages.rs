//! A range of a keyspace, page by page in key order, gone on with when it breaks off.

use std::time::Duration;
use std::vec;

use bytes::Bytes;
use dunlin_client::{ClientError, Keyspace, Pair, PairScan, Quorum, Range};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::cluster::Cluster;
use crate::CopyError;
use crate::gate::LARGE_BYTES;
use crate::patience::Patience;
use crate::plan;
use crate::watch::Watch;

/// Bytes of keys and values handed over at a time.
const PAGE_BYTES: usize = 256 << 10;

/// A key and its value.
pub(crate) type Entry = (Bytes, Bytes);

/// Some entries; the last page has none.
struct Page {
    entries: Vec<Entry>,
    /// Nothing more is read while somebody has this: the page is large.
    hold: Option<oneshot::Sender<()>>,
}

/// The entries between two keys.
pub(crate) struct Pages<'a> {
    cluster: &'a Cluster,
    keyspace: Keyspace,
    left: Range,
    coming: Option<Receiver<Result<Page, ClientError>>>,
    page: vec::IntoIter<Entry>,
    hold: Option<oneshot::Sender<()>>,
    retry_for: Duration,
    patience: Patience,
}

impl<'a> Pages<'a> {
    /// Begins to read.
    pub fn new(
        cluster: &'a Cluster,
        keyspace: Keyspace,
        range: &plan::Range,
        retry_for: Duration,
    ) -> Pages<'a> {
        let bytes = |key: &plan::Key| Bytes::copy_from_slice(&key.0);
        let mut pages = Pages {
            cluster,
            keyspace,
            left: Range {
                start: range.start.as_ref().map(bytes).unwrap_or_default(),
                end: range.end.as_ref().map(bytes),
                ..Range::default()
            },
            coming: None,
            page: Vec::new().into_iter(),
            hold: None,
            retry_for,
            patience: Patience::new(retry_for),
        };
        pages.ask();
        pages
    }

    fn ask(&mut self) {
        // One page is read while another is looked at.
        let (give, coming) = channel(1);
        let read = read(self.keyspace.clone(), self.left.clone(), give);
        self.cluster.handle().spawn(read);
        self.coming = Some(coming);
    }

    /// The next entry; `None` at the end of the range. Of a large one nothing is to be kept when
    /// this is called again.
    pub fn next(&mut self, watch: &Watch) -> Result<Option<Entry>, CopyError> {
        loop {
            if let Some(entry) = self.page.next() {
                return Ok(Some(entry));
            }
            self.hold = None;
            let Some(coming) = &mut self.coming else {
                return Ok(None);
            };
            let page = coming.blocking_recv().unwrap_or_else(|| {
                Err(ClientError::Invalid(
                    "the scan has ended by itself".to_owned(),
                ))
            });
            match page {
                Ok(page) => {
                    match page.entries.last() {
                        Some((last, _)) => self.left.start = [last, &b"\0"[..]].concat().into(),
                        None => self.coming = None,
                    }
                    self.hold = page.hold;
                    self.page = page.entries.into_iter();
                    self.patience = Patience::new(self.retry_for);
                }
                Err(error) => {
                    self.patience.bear(self.cluster.failed(error), watch)?;
                    self.ask();
                }
            }
        }
    }
}

/// Reads to the end, or until nobody wants to know. A page is begun when there is room for it: the
/// one before is being looked at then, or has been when it was large.
async fn read(keyspace: Keyspace, range: Range, give: Sender<Result<Page, ClientError>>) {
    let mut scan = match keyspace.scan_pairs(&range, Quorum::default()).await {
        Ok(scan) => scan,
        Err(error) => return drop(give.send(Err(error)).await),
    };
    while let Ok(room) = give.reserve().await {
        let (page, done) = match page_of(&mut scan).await {
            Ok(page) => page,
            Err(error) => return room.send(Err(error)),
        };
        let is_last = page.entries.is_empty();
        room.send(Ok(page));
        if is_last {
            return;
        }
        if let Some(done) = done {
            // It ends with an error, when the other side is dropped.
            let _ = done.await;
        }
    }
}

/// The next entries, none at the end; and when they are large, what ends once they were looked at.
async fn page_of(
    scan: &mut PairScan,
) -> Result<(Page, Option<oneshot::Receiver<()>>), ClientError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    while bytes < PAGE_BYTES {
        // What is large goes by itself, after all before it was looked at.
        let coming = scan.peek().await?.unwrap_or_default();
        if coming > LARGE_BYTES && !entries.is_empty() {
            bytes = LARGE_BYTES;
            break;
        }
        // A database has no ends of values.
        let Some(Pair { key, value, .. }) = scan.next().await? else {
            break;
        };
        bytes += key.len() + value.len();
        entries.push((key, value));
    }
    let (hold, done) = if bytes >= LARGE_BYTES {
        let (hold, done) = oneshot::channel();
        (Some(hold), Some(done))
    } else {
        (None, None)
    };
    Ok((Page { entries, hold }, done))
}
