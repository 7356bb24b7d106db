//! An answer of a view as the body of a response: `{"rows":[..],"token":..}`, made as the client takes it.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use dunlin_node::http::{Answer, LocalFuture, Rejected, stream};
use dunlin_node::{Failure, Services};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;

use crate::collate;
use crate::gather::{Broken, Gather};
use crate::page::{Piece, What};
use crate::query::Query;
use crate::reduce::Reduce;
use crate::row::row_of;
use crate::wanted::Group;

/// A chunk is sent from so many bytes on.
const CHUNK_BYTES: usize = 32 << 10;
/// Documents that are read at once.
const READS: usize = 32;

struct Body {
    services: Rc<Services>,
    keyspace: u32,
    gather: Gather,
    group: Option<Group>,
    reduce: Option<Reduce>,
    include_docs: bool,
    skip: u64,
    limit: u64,
    has_begun: bool,
    has_rows: bool,
    has_ended: bool,
    still: Box<dyn Fn() -> Result<(), Rejected>>,
    stopping: LocalFuture<()>,
}

/// The answer.
pub(crate) fn answer(
    services: &Rc<Services>,
    keyspace: u32,
    gather: Gather,
    query: &Query,
    reduce: Option<Reduce>,
    still: Box<dyn Fn() -> Result<(), Rejected>>,
    stopping: LocalFuture<()>,
) -> Answer {
    let body = Body {
        services: services.clone(),
        keyspace,
        gather,
        group: query.group,
        reduce,
        include_docs: query.include_docs,
        skip: query.skip,
        limit: query.limit,
        has_begun: false,
        has_rows: false,
        has_ended: false,
        still,
        stopping,
    };
    let chunks = streams::try_unfold(body, |mut body| async move {
        match body.next().await {
            Ok(Some(chunk)) => Ok(Some((Frame::data(chunk), body))),
            Ok(None) => Ok(None),
            Err(broken) => {
                tracing::info!(%broken, "an answer breaks off");
                Err(Failure::Busy)
            }
        }
    });
    stream(services, "application/json", chunks.boxed_local())
}

impl Body {
    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        if self.has_ended {
            return Ok(None);
        }
        let mut out = BytesMut::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            out.put_slice(b"{\"rows\":[");
        }
        if (self.still)().is_err() {
            return Err(Broken::forbidden());
        }
        while out.len() < CHUNK_BYTES && !self.has_ended {
            let pieces = tokio::select! {
                biased;
                () = &mut self.stopping => return Err(Broken::stopping()),
                pieces = take(&mut self.gather, &mut self.skip, &mut self.limit, if self.include_docs { READS } else { 1 }) => pieces?,
            };
            if pieces.is_empty() {
                self.has_ended = true;
                let token = self.gather.token.to_string();
                out.put_slice(b"\n],\"token\":\"");
                out.put_slice(token.as_bytes());
                out.put_slice(b"\"}\n");
                break;
            }
            self.put(pieces, &mut out).await?;
        }
        Ok(Some(out.freeze()))
    }

    async fn put(&mut self, pieces: Vec<Piece>, out: &mut BytesMut) -> Result<(), Broken> {
        let mut rows = Vec::with_capacity(pieces.len());
        for piece in pieces {
            rows.push(Row::of(piece, self.group, self.reduce)?);
        }
        let docs = if self.include_docs {
            let services = &self.services;
            let reads = rows.iter().map(|row| services.read(self.keyspace, &row.id));
            join_all(reads).await
        } else {
            Vec::new()
        };
        let mut docs = docs.into_iter();
        for row in rows {
            out.put_slice(if self.has_rows { b",\n" } else { b"\n" });
            self.has_rows = true;
            out.put_slice(row.text.as_bytes());
            if let Some(doc) = docs.next() {
                let doc = doc.map_err(|failure| Broken::of(&failure))?;
                out.put_slice(b",\"doc\":");
                out.put_slice(document(doc.as_ref().map(|item| &item.value[..])).as_bytes());
            }
            out.put_u8(b'}');
        }
        Ok(())
    }
}

/// The next pieces that are neither skipped nor too many.
async fn take(
    gather: &mut Gather,
    skip: &mut u64,
    limit: &mut u64,
    count: usize,
) -> Result<Vec<Piece>, Broken> {
    let mut pieces = Vec::new();
    while pieces.len() < count && *limit > 0 {
        let Some(piece) = gather.next().await? else {
            break;
        };
        if *skip > 0 {
            *skip -= 1;
            continue;
        }
        *limit -= 1;
        pieces.push(piece);
    }
    Ok(pieces)
}

/// A row as JSON, but for its end.
struct Row {
    id: Bytes,
    text: String,
}

impl Row {
    fn of(piece: Piece, group: Option<Group>, reduce: Option<Reduce>) -> Result<Row, Broken> {
        let malformed = || Broken::malformed();
        match piece.what {
            What::Row(value) => {
                let (key, id) = row_of(&piece.at).ok_or_else(malformed)?;
                let key = collate::decode(key).map_err(|_| malformed())?;
                let value = std::str::from_utf8(&value).map_err(|_| malformed())?;
                let text = format!("{{{},\"key\":{key},\"value\":{value}", named("id", &id));
                Ok(Row { id, text })
            }
            What::Group(aggregate) => {
                let key = match group {
                    Some(Group::All) | None => "null".to_owned(),
                    Some(_) => collate::decode(&piece.at).map_err(|_| malformed())?,
                };
                let value = aggregate.to_json(reduce.ok_or_else(malformed)?);
                Ok(Row {
                    id: Bytes::new(),
                    text: format!("{{\"key\":{key},\"value\":{value}"),
                })
            }
        }
    }
}

/// A field of bytes: as text where they are text, else in base64 under another name.
fn named(name: &str, bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("\"{name}\":{}", string(text)),
        Err(_) => format!("\"{name}_base64\":\"{}\"", STANDARD.encode(bytes)),
    }
}

/// A document as map functions are given it, without what is no text.
fn document(value: Option<&[u8]>) -> String {
    let Some(text) = value.and_then(|value| std::str::from_utf8(value).ok()) else {
        return "null".to_owned();
    };
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(json) => json.get().to_owned(),
        Err(_) => string(text),
    }
}

/// Text as JSON, which can always be written.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
