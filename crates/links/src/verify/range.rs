//! Values of one partition, read and summed at one of its replicas, behind all requests.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Entry;
use dunlin_node::{Failure, Services};
use dunlin_proto::Place;
use dunlin_proto::api::{DigestAnswer, DigestRequest};
use tokio::time::sleep;

use super::digest::{Digest, Scope, hashed};
use crate::running::{DIGEST, NUMBER};

/// Records and bytes that are read at once.
const PAGE_RECORDS: usize = 512;
const PAGE_BYTES: usize = 1 << 20;
/// Bytes of one range, and records of it where a request allows more.
const RANGE_BYTES: usize = 8 << 20;
const RANGE_RECORDS: u32 = 16_384;
/// How long another shard may take, and how often and after what pause the replicas are tried again.
const TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_millis(200);

/// What a page has.
#[derive(Default)]
struct Page {
    digest: Digest,
    listed: Vec<Entry>,
    records: usize,
    bytes: usize,
}

/// A range that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RangeError {
    /// The request makes no sense.
    #[error("the request makes no sense: {0}")]
    Malformed(String),
    /// No replica answers.
    #[error("no replica of partition {0} can be read now")]
    NoReplica(u16),
}

fn decode(text: &str) -> Result<Bytes, RangeError> {
    let bytes = STANDARD.decode(text).map(Bytes::from);
    bytes.map_err(|error| RangeError::Malformed(error.to_string()))
}

/// A range of a keyspace of this cluster, by the first of its replicas that answers.
pub(crate) async fn read(
    services: &Rc<Services>,
    keyspace: u32,
    request: &DigestRequest,
) -> Result<DigestAnswer, RangeError> {
    let partitions = services.partition_count(keyspace).unwrap_or(0);
    if partitions == 0 || request.of == 0 || request.partition >= request.of {
        let line = format!(
            "there is no partition {} of {}",
            request.partition, request.of
        );
        return Err(RangeError::Malformed(line));
    }
    if request.of < partitions {
        return Ok(DigestAnswer {
            partitions,
            ..DigestAnswer::default()
        });
    }
    // Counts are powers of two, and a partition is the remainder of a hash.
    let partition = request.partition % partitions;
    let body = encode(keyspace, request);
    for turn in 0..TRIES {
        if turn > 0 {
            sleep(PAUSE).await;
        }
        for at in services.replicas(keyspace, partition) {
            if at == services.shard().address() {
                if let Ok(answer) = here(services, keyspace, request).await {
                    return Ok(answer);
                }
            } else if services.is_reachable(at)
                && let Ok(answer) = services.ask(at, NUMBER, body.clone(), TIMEOUT).await
                && let Ok(answer) = serde_json::from_slice(&answer)
            {
                return Ok(answer);
            }
        }
    }
    Err(RangeError::NoReplica(partition))
}

fn encode(keyspace: u32, request: &DigestRequest) -> Bytes {
    let json = serde_json::to_vec(request).unwrap_or_default();
    let mut out = BytesMut::with_capacity(5 + json.len());
    out.put_u8(DIGEST);
    out.put_u32_le(keyspace);
    out.put_slice(&json);
    out.freeze()
}

/// Answers another shard; empty where this one cannot.
pub(crate) async fn serve(services: &Rc<Services>, mut body: Bytes) -> Bytes {
    let Ok(keyspace) = body.try_get_u32_le() else {
        return Bytes::new();
    };
    let Ok(request) = serde_json::from_slice::<DigestRequest>(&body) else {
        return Bytes::new();
    };
    match here(services, keyspace, &request).await {
        Ok(answer) => serde_json::to_vec(&answer).unwrap_or_default().into(),
        Err(_) => Bytes::new(),
    }
}

/// Reads the stored records of this shard.
async fn here(
    services: &Rc<Services>,
    keyspace: u32,
    request: &DigestRequest,
) -> Result<DigestAnswer, Failure> {
    let partitions = services
        .partition_count(keyspace)
        .ok_or(Failure::UnknownKeyspace)?;
    let malformed = |_| Failure::UnknownKeyspace;
    let end = request.end_base64.as_deref().map(decode).transpose();
    let scope = Scope {
        until: request.until.0,
        expires_ms: request.expires_ms,
        partition: (request.of != partitions).then_some((request.partition, request.of)),
        end: end.map_err(malformed)?,
    };
    let place = Place {
        keyspace,
        partition: request.partition % partitions.max(1),
    };
    let records_max = request.records_max.clamp(1, RANGE_RECORDS) as usize;
    let mut start = decode(&request.start_base64).map_err(malformed)?;
    let mut page = Page::default();
    let next = loop {
        let scope_of_page = scope.clone();
        let is_listed = request.list;
        let take = move |page: &mut Page, key: &[u8], record: dunlin_proto::ItemRef<'_>| {
            if scope_of_page.is_over(key) {
                return;
            }
            page.records += 1;
            page.bytes += key.len() + record.value.len();
            if scope_of_page.has(&record) {
                let entry = hashed(Bytes::copy_from_slice(key), &record);
                page.digest.add(&entry);
                if is_listed {
                    page.listed.push(entry);
                }
            }
        };
        let room = PAGE_RECORDS.min(records_max - page.records);
        let read = services.read_partition(place, start, (room, PAGE_BYTES), page, take);
        let (read, next) = read.await?;
        page = read;
        let next = next.filter(|next| !scope.is_over(next));
        match next {
            Some(next) if page.records < records_max && page.bytes < RANGE_BYTES => start = next,
            next => break next,
        }
    };
    let entries = page.listed.iter().map(text);
    Ok(DigestAnswer {
        partitions,
        records: page.digest.records,
        sum: format!("{:032x}", page.digest.sum),
        next_base64: next.map(|next| STANDARD.encode(next)),
        entries_base64: entries.collect(),
        read_bytes: page.bytes as u64,
    })
}

/// An entry as it is listed.
pub(crate) fn text(entry: &Entry) -> String {
    let mut bytes = BytesMut::with_capacity(entry.encoded_len());
    entry.encode_into(&mut bytes);
    STANDARD.encode(bytes)
}

/// Entries as they are listed.
pub(crate) fn entries(texts: &[String]) -> Result<Vec<Entry>, RangeError> {
    let of = |text: &String| {
        let entry = Entry::decode(decode(text)?);
        entry.map_err(|error| RangeError::Malformed(error.to_string()))
    };
    texts.iter().map(of).collect()
}
