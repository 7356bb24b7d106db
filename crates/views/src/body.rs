//! An answer of a view as the body of a response: `{"rows":[..],"token":..}`, made as the client takes it.

use std::collections::VecDeque;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use dunlin_metadata::ViewRecord;
use dunlin_node::http::{Answer, LocalFuture, Rejected, stream};
use dunlin_node::{Failure, Services};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;
use serde::Deserialize;

use crate::collate;
use crate::gather::{Broken, Gather};
use crate::page::{Piece, What};
use crate::query::{Queries, Query};
use crate::reduce::Reduce;
use crate::row::row_of;
use crate::wanted::Group;

/// A chunk is sent from so many bytes on.
const CHUNK_BYTES: usize = 32 << 10;
/// Documents that are read at once.
const READS: usize = 32;

/// Whom queries are of.
#[derive(Clone)]
pub(crate) struct Of {
    pub services: Rc<Services>,
    pub keyspace: u32,
    pub view: ViewRecord,
    pub reduce: Option<Reduce>,
}

impl Of {
    /// Begins a query.
    pub async fn begin(&self, query: &Query) -> Result<Gather, Rejected> {
        Gather::begin(
            &self.services,
            self.keyspace,
            &self.view,
            self.reduce,
            query,
        )
        .await
    }
}

struct Body {
    of: Of,
    gather: Gather,
    query: Query,
    /// Rows of it that were given.
    given: u64,
    skipped: u64,
    /// Queries that come behind it.
    left: VecDeque<Query>,
    is_list: bool,
    at: At,
    still: Box<dyn Fn() -> Result<(), Rejected>>,
    stopping: LocalFuture<()>,
}

/// How far the answer is.
#[derive(PartialEq, Eq)]
enum At {
    Begin,
    Query,
    Rows,
    End,
}

/// The answer to queries, the first of which has a gather.
pub(crate) fn answer(
    of: Of,
    gather: Gather,
    queries: Queries,
    still: Box<dyn Fn() -> Result<(), Rejected>>,
    stopping: LocalFuture<()>,
) -> Option<Answer> {
    let services = of.services.clone();
    let mut left: VecDeque<Query> = queries.all.into();
    let body = Body {
        of,
        gather,
        query: left.pop_front()?,
        given: 0,
        skipped: 0,
        left,
        is_list: queries.is_list,
        at: At::Begin,
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
    Some(stream(&services, "application/json", chunks.boxed_local()))
}

impl Body {
    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        if self.at == At::End {
            return Ok(None);
        }
        if (self.still)().is_err() {
            return Err(Broken::forbidden());
        }
        let mut out = BytesMut::new();
        if self.at == At::Begin {
            if self.is_list {
                out.put_slice(b"{\"results\":[\n");
            }
            self.at = At::Query;
        }
        while out.len() < CHUNK_BYTES && self.at != At::End {
            if self.at == At::Query {
                self.put_head(&mut out);
            }
            let pieces = self.take().await?;
            if pieces.is_empty() {
                self.put_end(&mut out);
                self.go_on(&mut out).await?;
            } else {
                self.put(pieces, &mut out).await?;
            }
        }
        Ok(Some(out.freeze()))
    }

    /// Writes the head of a query's answer: of rows, how many there are.
    fn put_head(&mut self, out: &mut BytesMut) {
        out.put_u8(b'{');
        if self.query.group.is_none() {
            let rows = self.gather.rows;
            // Rows before those of a key are not counted.
            let is_known = self.query.is_from_first;
            let offset = is_known.then(|| self.query.skip.min(rows).to_string());
            let offset = offset.unwrap_or_else(|| "null".to_owned());
            out.put_slice(format!("\"total_rows\":{rows},\"offset\":{offset},").as_bytes());
        }
        out.put_slice(b"\"rows\":[");
        self.at = At::Rows;
        (self.given, self.skipped) = (0, 0);
    }

    fn put_end(&self, out: &mut BytesMut) {
        let token = self.gather.token.to_string();
        out.put_slice(format!("\n],\"token\":\"{token}\"").as_bytes());
        if self.query.update_seq {
            out.put_slice(format!(",\"update_seq\":\"{token}\"").as_bytes());
        }
        out.put_u8(b'}');
    }

    /// Begins the next query, or ends.
    async fn go_on(&mut self, out: &mut BytesMut) -> Result<(), Broken> {
        let Some(query) = self.left.pop_front() else {
            out.put_slice(if self.is_list { b"\n]}\n" } else { b"\n" });
            self.at = At::End;
            return Ok(());
        };
        out.put_slice(b",\n");
        let started = tokio::select! {
            biased;
            () = &mut self.stopping => return Err(Broken::stopping()),
            started = self.of.begin(&query) => started,
        };
        self.gather = started.map_err(|rejected| Broken::of(&rejected.line))?;
        self.query = query;
        self.at = At::Query;
        Ok(())
    }

    /// The next pieces that are neither skipped nor too many.
    async fn take(&mut self) -> Result<Vec<Piece>, Broken> {
        let count = if self.query.include_docs { READS } else { 1 };
        let mut pieces = Vec::new();
        while pieces.len() < count && self.given < self.query.limit {
            let piece = tokio::select! {
                biased;
                () = &mut self.stopping => return Err(Broken::stopping()),
                piece = self.gather.next() => piece?,
            };
            let Some(piece) = piece else {
                break;
            };
            if self.skipped < self.query.skip {
                self.skipped += 1;
                continue;
            }
            self.given += 1;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    async fn put(&mut self, pieces: Vec<Piece>, out: &mut BytesMut) -> Result<(), Broken> {
        let mut is_first = self.given == pieces.len() as u64;
        let mut rows = Vec::with_capacity(pieces.len());
        for piece in pieces {
            rows.push(Row::of(piece, &self.query, self.of.reduce)?);
        }
        let docs = if self.query.include_docs {
            let Of {
                services, keyspace, ..
            } = &self.of;
            let reads = rows.iter().map(|row| {
                let id = row.linked.as_ref().unwrap_or(&row.id);
                services.read(*keyspace, id)
            });
            join_all(reads).await
        } else {
            Vec::new()
        };
        let mut docs = docs.into_iter();
        for row in rows {
            let before: &[u8] = if is_first { b"\n" } else { b",\n" };
            out.put_slice(before);
            is_first = false;
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

/// A row as JSON, but for its end.
struct Row {
    id: Bytes,
    /// The document that the row's value names.
    linked: Option<Bytes>,
    text: String,
}

impl Row {
    fn of(piece: Piece, query: &Query, reduce: Option<Reduce>) -> Result<Row, Broken> {
        let malformed = || Broken::malformed();
        match piece.what {
            What::Row(value) => {
                let (key, id) = row_of(&piece.at).ok_or_else(malformed)?;
                let key = collate::decode(key).map_err(|_| malformed())?;
                let value = std::str::from_utf8(&value).map_err(|_| malformed())?;
                let text = format!("{{{},\"key\":{key},\"value\":{value}", named("id", &id));
                let linked = query.include_docs.then(|| linked(value)).flatten();
                Ok(Row { id, linked, text })
            }
            What::Group(aggregate) => {
                let key = match query.group {
                    Some(Group::All) | None => "null".to_owned(),
                    Some(_) => collate::decode(&piece.at).map_err(|_| malformed())?,
                };
                let value = aggregate.to_json(reduce.ok_or_else(malformed)?);
                let value = value.map_err(|unfit| Broken::of(&unfit))?;
                Ok(Row {
                    id: Bytes::new(),
                    linked: None,
                    text: format!("{{\"key\":{key},\"value\":{value}"),
                })
            }
        }
    }
}

/// The document that a value names: `{"_id": ..}`.
fn linked(value: &str) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Linked {
        _id: String,
    }
    let linked = value.starts_with('{').then(|| serde_json::from_str(value));
    let linked: Linked = linked?.ok()?;
    Some(linked._id.into())
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
