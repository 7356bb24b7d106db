//! Ranges of keys, streamed in constant memory.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Stamp;
use dunlin_proto::Item;
use futures_util::{StreamExt, stream};
use hyper::body::Frame;
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::accept::Form;
use super::error::Rejected;
use super::keys::{of_ranges, status_of};
use super::pair_stream;
use super::params::Params;
use super::reply::{self, Chunks, Reply};
use super::upload::Upload;
use crate::doors::Held;
use crate::limits::PAGE_BYTES;
use crate::meters::Operation;
use crate::plug::Transactional;
use crate::quorum::{Coordinator, Failure, Quorum, Scan};
use crate::shard::Shard;

/// Where pages come from.
enum Source {
    Quorum(Scan),
    Ranges {
        ranges: Rc<dyn Transactional>,
        keyspace: u32,
        /// Where the next page begins; none behind the last.
        start: Option<Bytes>,
        end: Option<Bytes>,
    },
}

impl Source {
    fn begin(
        coordinator: &Rc<Coordinator>,
        keyspace: u32,
        start: Bytes,
        end: Option<Bytes>,
        quorum: Quorum,
    ) -> Result<Source, Failure> {
        let Some(ranges) = coordinator.ranges_of(keyspace) else {
            let scan = Scan::begin(coordinator, keyspace, start, end, quorum)?;
            return Ok(Source::Quorum(scan));
        };
        coordinator.shard().serves(keyspace)?;
        Ok(Source::Ranges {
            ranges: ranges.clone(),
            keyspace,
            start: Some(start),
            end,
        })
    }

    async fn next_page(&mut self) -> Result<Vec<Item>, Failure> {
        match self {
            Source::Quorum(scan) => scan.next_page().await,
            Source::Ranges {
                ranges,
                keyspace,
                start,
                end,
            } => {
                // A range may be empty, and others follow.
                while let Some(from) = start.take() {
                    let page = ranges.page(*keyspace, from, end.clone()).await?;
                    *start = page.next;
                    if !page.items.is_empty() {
                        return Ok(page.items);
                    }
                }
                Ok(Vec::new())
            }
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Source::Quorum(scan) => scan.held_bytes(),
            Source::Ranges { .. } => 0,
        }
    }
}

/// Records in order, a page in memory at a time.
pub(super) struct Records {
    shard: Rc<Shard>,
    scan: Source,
    page: VecDeque<Item>,
    left: u64,
    held: Held,
}

impl Records {
    async fn begin(
        coordinator: &Rc<Coordinator>,
        keyspace: &str,
        start: Bytes,
        end: Option<Bytes>,
        limit: Option<u64>,
        params: &Params,
    ) -> Result<Records, Rejected> {
        let shard = coordinator.shard();
        let placement = shard.placement();
        let (keyspace, quorum) = match placement.transactional_named(keyspace) {
            Some(found) => (found.id, of_ranges(&found.name, params)?),
            None => {
                let placed = placement.named(keyspace).ok_or(Failure::UnknownKeyspace)?;
                let replicas = placed.keyspace.settings.replicas;
                (
                    placed.keyspace.id,
                    params.quorum(replicas, placement.member_count())?,
                )
            }
        };
        if !shard.front().doors.has_room(PAGE_BYTES) {
            return Err(Rejected::full());
        }
        let held = shard.front().doors.account();
        let begun = Instant::now();
        // The first page comes before the status line: a failure still gets its own.
        let first = async {
            let mut scan = Source::begin(coordinator, keyspace, start, end, quorum)?;
            let page = scan.next_page().await?;
            Ok((scan, page))
        };
        let first = first.await;
        let status = status_of(&first, |_| StatusCode::OK);
        let spent_us = begun.elapsed().as_micros() as u64;
        shard
            .front()
            .requests
            .record(Operation::Scan, keyspace, status, spent_us);
        let (scan, page) = first?;
        let mut records = Records {
            shard: shard.clone(),
            scan,
            page: page.into(),
            left: limit.unwrap_or(u64::MAX),
            held,
        };
        records.count();
        Ok(records)
    }

    /// One that has begun goes on, even where there is no more memory: it takes no more than it did.
    fn count(&mut self) {
        let items = self.page.iter();
        let page_bytes: usize = items.map(|i| i.key.len() + i.value.len()).sum();
        self.held.set(page_bytes + self.scan.held_bytes());
    }

    pub async fn next(&mut self) -> Result<Option<Item>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.page.is_empty() {
            let next = self.scan.next_page().await;
            if next.is_err() {
                let broken = &self.shard.counters().broken_scans;
                broken.set(broken.get() + 1);
            }
            self.page = next?.into();
            self.count();
        }
        self.left -= 1;
        Ok(self.page.pop_front())
    }

    fn chunks(self, form: fn(Item) -> Bytes) -> Chunks {
        stream::try_unfold(self, move |mut records| async move {
            let item = records.next().await?;
            Ok(item.map(|item| (Frame::data(form(item)), records)))
        })
        .boxed_local()
    }
}

/// The range in the form of `/v0`.
pub(super) async fn entities(
    coordinator: &Rc<Coordinator>,
    keyspace: &str,
    start: Bytes,
    end: Option<Bytes>,
    params: &Params,
) -> Result<Reply, Rejected> {
    let records = Records::begin(coordinator, keyspace, start, end, None, params).await?;
    if records.page.is_empty() {
        return Ok(reply::empty(StatusCode::OK));
    }
    Ok(reply::stream(
        "application/octet-stream",
        records.chunks(line_pair),
    ))
}

fn line_pair(item: Item) -> Bytes {
    let mut chunk = BytesMut::with_capacity(item.key.len() + 1 + item.value.len());
    chunk.put_slice(&item.key);
    chunk.put_u8(b'\n');
    chunk.put_slice(&item.value);
    chunk.freeze()
}

/// `/v1/keyspaces/{name}/keys`: one JSON object a line, or pairs, as `docs/formats.md` section 9
/// says.
pub(super) async fn keys(
    coordinator: &Rc<Coordinator>,
    request: &Request<Upload>,
    keyspace: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Rejected::method());
    }
    let form = Form::wanted(request.headers())?;
    let limit = params.number("limit")?;
    let (start, end) = bounds(&params);
    let records = Records::begin(coordinator, keyspace, start, end, limit, &params).await?;
    Ok(match form {
        Form::Lines => reply::stream(form.media_type(), records.chunks(line_of)),
        Form::Pairs => reply::stream(form.media_type(), pair_stream::chunks(records)),
    })
}

/// The first key and the end of a range, by `prefix`, `start` and `end`.
pub fn bounds(params: &Params) -> (Bytes, Option<Bytes>) {
    let prefix = params.get("prefix").cloned().unwrap_or_default();
    let start = params.get("start").cloned().unwrap_or_default();
    let end = params.get("end").filter(|end| !end.is_empty()).cloned();
    let end = match (end, prefix_end(&prefix)) {
        (Some(end), Some(prefix_end)) => Some(end.min(prefix_end)),
        (end, prefix_end) => end.or(prefix_end),
    };
    (start.max(prefix), end)
}

/// The first key after all that begin with `prefix`; `None` when there is no such key.
fn prefix_end(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

fn line_of(item: Item) -> Bytes {
    json_line(&item.key, &item.value, (Some(item.stamp), item.expiry_ms))
}

/// A key with its value, as a line; without a version where it has none yet, and without the time at which it is gone where
/// it stays.
pub fn json_line(
    key: &[u8],
    value: &[u8],
    (version, expires_ms): (Option<Stamp>, Option<u64>),
) -> Bytes {
    let mut object = Map::new();
    put_bytes(&mut object, "key", key);
    put_bytes(&mut object, "value", value);
    if let Some(version) = version {
        object.insert("version".into(), version.to_string().into());
    }
    if let Some(expires_ms) = expires_ms {
        object.insert("expires_at_ms".into(), expires_ms.into());
    }
    let mut line = Value::Object(object).to_string();
    line.push('\n');
    line.into()
}

/// As text where it is text; else in base64 under another name.
pub fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.into(), text.into()),
        Err(_) => object.insert(format!("{name}_base64"), base64(bytes).into()),
    };
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
