//! A range of a keyspace, page by page in key order, gone on with when it breaks off.

use std::time::Duration;
use std::vec;

use bytes::Bytes;
use dunlin_client::{ClientError, Entry, Keyspace, Quorum, Range, Scan};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::cluster::Cluster;
use crate::CopyError;
use crate::plan;
use crate::sender::dial::Patience;
use crate::watch::Watch;

/// Bytes of keys and values handed over at a time.
const PAGE_BYTES: usize = 256 << 10;

/// Some entries; the last page has none.
type Page = Result<Vec<Entry>, ClientError>;

/// The entries between two keys.
pub(crate) struct Pages<'a> {
    cluster: &'a Cluster,
    keyspace: Keyspace,
    left: Range,
    coming: Option<Receiver<Page>>,
    page: vec::IntoIter<Entry>,
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

    /// The next entry; `None` at the end of the range.
    pub fn next(&mut self, watch: &Watch) -> Result<Option<Entry>, CopyError> {
        loop {
            if let Some(entry) = self.page.next() {
                return Ok(Some(entry));
            }
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
                    match page.last() {
                        Some(last) => {
                            let mut behind = last.key.to_vec();
                            behind.push(0);
                            self.left.start = behind.into();
                        }
                        None => self.coming = None,
                    }
                    self.page = page.into_iter();
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
/// one before is being looked at then.
async fn read(keyspace: Keyspace, range: Range, give: Sender<Page>) {
    let mut scan = match keyspace.scan(&range, Quorum::default()).await {
        Ok(scan) => scan,
        Err(error) => return drop(give.send(Err(error)).await),
    };
    while let Ok(room) = give.reserve().await {
        let page = page_of(&mut scan).await;
        let is_last = page.as_ref().map_or(true, Vec::is_empty);
        room.send(page);
        if is_last {
            return;
        }
    }
}

/// The next entries; none at the end.
async fn page_of(scan: &mut Scan) -> Page {
    let mut page = Vec::new();
    let mut bytes = 0;
    while bytes < PAGE_BYTES {
        let Some(entry) = scan.next().await? else {
            break;
        };
        bytes += entry.key.len() + entry.value.len();
        page.push(entry);
    }
    Ok(page)
}
