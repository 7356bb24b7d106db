//! Queries of other shards that are under way here: the reading of each, between two calls. A reader that does not
//! come back holds a view of the index, and nothing else; after a while, or when there are too many, it is ended.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_changes::wire::Malformed;
use dunlin_node::Services;
use dunlin_proto::{CANNOT, Response};
use dunlin_rpc::{Refused, Reply};
use tokio::time::Instant;

use crate::serve::Serving;
use crate::view::View;
use crate::wanted::{Ranges, Wanted, get_ranges, put_ranges};

/// One that has not come back for so long is ended.
const IDLE: Duration = Duration::from_secs(60);
/// There are no more.
const READERS_MAX: usize = 1_000;

/// Those of a shard.
#[derive(Default)]
pub(crate) struct Readers {
    last: u64,
    all: BTreeMap<u64, Reader>,
}

struct Reader {
    serving: Serving,
    used: Instant,
}

/// Goes on with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct More {
    /// Which.
    pub reader: u64,
    /// Other ranges, with the number of the first, and whether more come; none where the ones before are not at their end.
    pub ranges: Option<Ranges>,
}

impl More {
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.reader);
        if let Some((first, has_more, ranges)) = &self.ranges {
            put_ranges(out, *first, *has_more, ranges);
        }
    }

    pub fn decode(mut body: Bytes) -> Result<More, Malformed> {
        let reader = body.try_get_u64_le().map_err(|_| Malformed)?;
        let has_ranges = body.has_remaining();
        let ranges = has_ranges.then(|| get_ranges(&mut body)).transpose()?;
        Ok(More { reader, ranges })
    }
}

impl Readers {
    /// Keeps one; its number, which no other has, also after the next start of the shard.
    fn keep(&mut self, now_ms: u64, serving: Serving) -> u64 {
        self.sweep();
        while self.all.len() >= READERS_MAX {
            let oldest = self.all.iter().min_by_key(|(_, reader)| reader.used);
            let Some(oldest) = oldest.map(|(reader, _)| *reader) else {
                break;
            };
            self.all.remove(&oldest);
        }
        self.last = (self.last + 1).max(now_ms << 20);
        self.put(self.last, serving);
        self.last
    }

    fn put(&mut self, reader: u64, serving: Serving) {
        let used = Instant::now();
        self.all.insert(reader, Reader { serving, used });
    }

    /// Takes one out, for as long as it is read for.
    fn take(&mut self, reader: u64) -> Option<Serving> {
        self.all.remove(&reader).map(|reader| reader.serving)
    }

    /// Ends one.
    pub fn end(&mut self, reader: u64) {
        self.all.remove(&reader);
    }

    /// Ends those that do not come back.
    pub fn sweep(&mut self) {
        self.all.retain(|_, reader| reader.used.elapsed() < IDLE);
    }
}

/// Begins a query: answers with its number, 0 where nothing is left, its head and first page.
pub(crate) fn begin(
    services: &Rc<Services>,
    readers: &Rc<RefCell<Readers>>,
    view: Option<Rc<View>>,
    wanted: Wanted,
    reply: Reply<Response>,
) {
    let (services, readers) = (services.clone(), readers.clone());
    reply.work(async move {
        let (mut head, serving) = Serving::begin(&services, view, wanted).await;
        let reduce = serving.as_ref().and_then(Serving::reduce);
        let mut out = BytesMut::new();
        let mut reader = 0;
        if let Some(mut serving) = serving {
            let page = match head.page.take() {
                Some(page) => page,
                None => serving.next().await.map_err(cannot)?,
            };
            if !page.is_last || serving.has_more_ranges() {
                reader = readers.borrow_mut().keep(services.now_ms(), serving);
            }
            head.page = Some(page);
        }
        out.put_u64_le(reader);
        out.put_slice(&head.encode(reduce));
        Ok(Response::Plug(out.freeze()))
    });
}

/// Goes on with a query: answers with its next page.
pub(crate) fn go_on(readers: &Rc<RefCell<Readers>>, more: More, reply: Reply<Response>) {
    let readers = readers.clone();
    reply.work(async move {
        let taken = readers.borrow_mut().take(more.reader);
        let mut serving = taken.ok_or_else(|| {
            Refused::new(
                CANNOT,
                "the answer was not taken for too long, or the node was restarted",
            )
        })?;
        if let Some(ranges) = more.ranges {
            serving.go_on(ranges);
        }
        let page = serving.next().await.map_err(cannot)?;
        let bytes = page.encode(serving.reduce());
        if !page.is_last || serving.has_more_ranges() {
            readers.borrow_mut().put(more.reader, serving);
        }
        Ok(Response::Plug(bytes))
    });
}

fn cannot(error: impl std::fmt::Display) -> Refused {
    Refused::new(CANNOT, error.to_string())
}
