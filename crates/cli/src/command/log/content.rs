//! What a record's payload holds, as text and as JSON.

use std::fmt::Write;

use dunlin_entry::{EntryView, Kind, Position, Vector};
use dunlin_log::inspect::{CompressedBatch, Op, Record, WriteBatch};
use serde_json::{Map, Value, json};

use crate::key;

/// Bytes of a key or of an unknown payload that are shown.
const SHOWN_BYTES: usize = 48;

/// A payload, understood as far as it can be.
pub enum Content<'a> {
    /// Dunlin's compressed batch.
    Compressed(CompressedBatch),
    /// Compressed by RocksDB, with this codec.
    Opaque(u32),
    /// Dunlin's entry.
    Entry(EntryView<'a>),
    /// RocksDB's write batch.
    Batch(WriteBatch<'a>),
    /// Anything else.
    Bytes(&'a [u8]),
}

impl<'a> Content<'a> {
    /// Understands the payload of a record; of a Dunlin segment entries come first.
    pub fn of(record: &Record, payload: &'a [u8], dunlin: bool) -> Content<'a> {
        if record.code.is_batch(dunlin)
            && let Some(batch) = CompressedBatch::parse(payload)
        {
            return Content::Compressed(batch);
        }
        if let Some(codec) = record.compression {
            return Content::Opaque(codec);
        }
        if record.cut {
            return Content::Bytes(payload);
        }
        Content::of_payload(payload, dunlin)
    }

    /// Understands a whole payload that is not compressed.
    pub fn of_payload(payload: &'a [u8], dunlin: bool) -> Content<'a> {
        if dunlin && let Ok(entry) = EntryView::new(payload) {
            return Content::Entry(entry);
        }
        match WriteBatch::whole(payload) {
            Some(batch) => Content::Batch(batch),
            None => Content::Bytes(payload),
        }
    }

    /// A part of a line.
    pub fn text(&self) -> String {
        match self {
            Content::Compressed(batch) => format!(
                "{} records in {}, {} bytes before",
                batch.count,
                batch.codec_name(),
                batch.payload_bytes()
            ),
            Content::Opaque(codec) => format!("compressed with {}", codec_name(*codec)),
            Content::Entry(entry) => entry_text(entry),
            Content::Batch(batch) => {
                let mut text = format!("seq {} count {}", batch.sequence, batch.count);
                for op in batch.ops().flatten() {
                    text.push_str(", ");
                    op_text(&op, &mut text);
                }
                text
            }
            Content::Bytes(bytes) => preview(bytes),
        }
    }

    /// Adds what it holds to a record's JSON.
    pub fn json(&self, object: &mut Map<String, Value>) {
        match self {
            Content::Compressed(batch) => {
                let value = json!({
                    "codec": batch.codec_name(), "records": batch.count,
                    "payload_bytes": batch.payload_bytes(), "raw_bytes": batch.raw_bytes,
                    "compressed_bytes": batch.compressed_bytes,
                });
                object.insert("compressed_batch".into(), value);
            }
            Content::Opaque(codec) => {
                object.insert("compression".into(), codec_name(*codec).into());
            }
            Content::Entry(entry) => {
                object.insert("entry".into(), entry_json(entry));
            }
            Content::Batch(batch) => {
                let ops: Vec<Value> = batch.ops().flatten().map(|op| op_json(&op)).collect();
                let value = json!({ "sequence": batch.sequence, "count": batch.count, "ops": ops });
                object.insert("batch".into(), value);
            }
            Content::Bytes(bytes) => {
                object.insert("preview".into(), preview(bytes).into());
            }
        }
    }
}

/// RocksDB's name of a compression.
pub fn codec_name(codec: u32) -> String {
    let names = [
        "none", "snappy", "zlib", "bzip2", "lz4", "lz4hc", "xpress", "zstd",
    ];
    let known = usize::try_from(codec).ok().and_then(|at| names.get(at));
    known.map_or(format!("codec {codec}"), |name| (*name).to_owned())
}

fn op_text(op: &Op<'_>, text: &mut String) {
    text.push_str(op.name());
    if op.column_family != 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "({})", op.column_family);
    }
    if !op.key.is_empty() || op.is_counted() {
        let _ = write!(text, " {} ({} bytes)", preview(op.key), op.key.len());
    }
    if !op.value.is_empty() {
        let _ = write!(text, " value {} bytes", op.value.len());
    }
}

fn op_json(op: &Op<'_>) -> Value {
    let mut object = Map::new();
    object.insert("op".into(), op.name().into());
    object.insert("column_family".into(), op.column_family.into());
    key::insert(&mut object, "key", op.key);
    object.insert("key_bytes".into(), op.key.len().into());
    object.insert("value_bytes".into(), op.value.len().into());
    Value::Object(object)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Put => "put",
        Kind::Delete => "delete",
        Kind::Vector => "vector",
    }
}

fn entry_text(entry: &EntryView<'_>) -> String {
    let kind = if entry.is_expiry() {
        "expiry"
    } else {
        kind_name(entry.kind())
    };
    let copy = if entry.copy() { " copy" } else { "" };
    if entry.kind() == Kind::Vector {
        let origins = Vector::decode(entry.value()).map(|vector| vector.len());
        let origins = origins.map_or("unreadable".to_owned(), |count| count.to_string());
        return format!("{kind}{copy}, origins: {origins}");
    }
    let replaces = entry.replaces().map_or(String::new(), |replaces| {
        let how = if replaces.is_mend {
            "mends"
        } else {
            "replaces"
        };
        format!(", {how} {}", replaces.stamp)
    });
    let logged = entry.logged().map_or(String::new(), |position| {
        format!(", logged as {}-{}", position.sequence, position.origin)
    });
    format!(
        "{kind}{copy} keyspace {} partition {} {} value {} bytes at {}{replaces}{logged}",
        entry.keyspace(),
        entry.partition(),
        preview(entry.key()),
        entry.value().len(),
        entry.stamp()
    )
}

fn entry_json(entry: &EntryView<'_>) -> Value {
    let mut object = Map::new();
    object.insert("kind".into(), kind_name(entry.kind()).into());
    object.insert("copy".into(), entry.copy().into());
    object.insert("from".into(), entry.from().into());
    object.insert("keyspace".into(), entry.keyspace().into());
    object.insert("partition".into(), entry.partition().into());
    let stamp = entry.stamp();
    object.insert("version".into(), stamp.version.to_string().into());
    object.insert("origin".into(), stamp.origin.to_string().into());
    object.insert("expiry_ms".into(), entry.expiry_ms().into());
    if entry.is_expiry() {
        object.insert("is_expiry".into(), true.into());
    }
    if let Some(Position { origin, sequence }) = entry.logged() {
        let position = json!({ "origin": origin.to_string(), "sequence": sequence.to_string() });
        object.insert("position".into(), position);
    }
    if let Some(replaces) = entry.replaces() {
        object.insert("replaces".into(), replaces.stamp.to_string().into());
        object.insert("is_mend".into(), replaces.is_mend.into());
    }
    key::insert(&mut object, "key", entry.key());
    object.insert("key_bytes".into(), entry.key().len().into());
    object.insert("value_bytes".into(), entry.value().len().into());
    Value::Object(object)
}

/// The first bytes, escaped.
fn preview(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("\"{}\"{more}", shown.escape_ascii())
}
