//! One event of a log file as a line and as JSON.

use dunlin_log::inspect::{Blank, Damage, Event, Own, Physical, Record, Rest, SegmentHeader};
use serde_json::{Map, Value, json};

use super::content::{Content, codec_name};
use super::settings;

/// A line of a dump. `name` is what the event is, in capitals.
fn line(offset: u64, name: &str, bytes: impl ToString, pieces: &str, what: &str) -> String {
    let bytes = bytes.to_string();
    format!("{offset:>12}  {name:<15}  {bytes:>9}  {pieces:>6}  {what}")
        .trim_end()
        .to_owned()
}

/// The names of the columns.
pub fn headings() -> String {
    format!(
        "{:>12}  {:<15}  {:>9}  {:>6}  CONTENT",
        "OFFSET", "TYPE", "BYTES", "PIECES"
    )
}

/// A logical record.
pub fn record(record: &Record, payload: &[u8], dunlin: bool) -> String {
    let content = Content::of(record, payload, dunlin).text();
    let pieces = record.fragments.to_string();
    let name = record.code.name(dunlin);
    // A record in pieces is listed by what it is, not by its first piece.
    let name = match (record.fragments, record.code.is_batch(dunlin)) {
        (1, _) => name,
        (_, true) => "BATCH",
        (_, false) => "RECORD",
    };
    line(record.offset, name, record.payload_bytes, &pieces, &content)
}

/// A record of the compressed batch that begins at `offset`.
pub fn batched(offset: u64, payload: &[u8]) -> String {
    let content = Content::of_payload(payload, true).text();
    line(offset, "  IN-BATCH", payload.len(), "", &content)
}

/// The same as JSON; `place` counts from 1.
pub fn batched_json(offset: u64, place: u64, payload: &[u8]) -> Value {
    let mut object = Map::new();
    object.insert("event".to_owned(), "batched_record".into());
    object.insert("batch_offset".to_owned(), offset.into());
    object.insert("place".to_owned(), place.into());
    object.insert("bytes".to_owned(), payload.len().into());
    Content::of_payload(payload, true).json(&mut object);
    Value::Object(object)
}

/// Anything else; none for what only `--physical` lists, when that is not asked for.
pub fn other(
    event: &Event,
    last: Option<&Physical>,
    physical: bool,
    dunlin: bool,
) -> Option<String> {
    Some(match event {
        Event::Physical(it) if physical => {
            let name = format!("  {}", it.code.name(dunlin));
            let what = format!("header {} bytes, code {}", it.header_bytes, it.code.0);
            line(it.offset, &name, it.payload_bytes, "", &what)
        }
        Event::Padding(it) if physical => {
            let what = match it.kind {
                Blank::Tail => "end of block, too short for a header",
                Blank::Block => "the next record begins in a new block",
            };
            line(it.offset, "  padding", it.bytes, "", what)
        }
        Event::Own(own) => {
            let at = last?;
            let what = own_text(own)?;
            line(at.offset, at.code.name(dunlin), at.payload_bytes, "", &what)
        }
        Event::Damage(it) => line(it.offset, "DAMAGE", it.skipped_bytes, "", &damage(it)),
        Event::End(it) => line(it.offset, "END", it.unused_bytes, "", &it.rest.to_string()),
        Event::Physical(_) | Event::Padding(_) | Event::Record(_) => return None,
    })
}

/// Damage in words.
pub fn damage(damage: &Damage) -> String {
    let mut text = damage.reason.to_string();
    if damage.lost_bytes > 0 {
        text.push_str(&format!(", {} bytes of payload lost", damage.lost_bytes));
    }
    if damage.records_skipped {
        text.push_str(", whole records behind it in the block");
    }
    text
}

/// Pads say nothing; they are listed as padding.
fn own_text(own: &Own) -> Option<String> {
    Some(match own {
        Own::Header(Ok(header)) => format!(
            "segment {}, first index {}, {}, previous {} bytes{}",
            header.number,
            header.first_index,
            settings::text(&header.settings()),
            header.previous_length,
            if header.previous_synced {
                ", synced"
            } else {
                ""
            }
        ),
        Own::Header(Err(why)) => (*why).to_owned(),
        Own::SyncMark(Some(offset)) => format!("synced up to {offset}"),
        Own::SyncMark(None) => "vouches for what is not before it".to_owned(),
        Own::Compression(Some(codec)) => format!("{} from here on", codec_name(*codec)),
        Own::Compression(None) => "malformed".to_owned(),
        Own::Other => String::new(),
        Own::Pad => return None,
    })
}

/// An event as JSON; none for what only `--physical` lists, when that is not asked for.
pub fn json(
    event: &Event,
    payload: &[u8],
    last: Option<&Physical>,
    physical: bool,
    dunlin: bool,
) -> Option<Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    match event {
        Event::Record(it) => {
            put("event", "record".into());
            put("offset", it.offset.into());
            put("end", it.end.into());
            put("type", it.code.name(dunlin).into());
            put("code", it.code.0.into());
            put("bytes", it.payload_bytes.into());
            put("header_bytes", it.header_bytes.into());
            put("fragments", it.fragments.into());
            put("cut", it.cut.into());
            Content::of(it, payload, dunlin).json(&mut object);
        }
        Event::Physical(it) if physical => {
            put("event", "physical".into());
            put("offset", it.offset.into());
            put("type", it.code.name(dunlin).into());
            put("code", it.code.0.into());
            put("header_bytes", it.header_bytes.into());
            put("bytes", it.payload_bytes.into());
        }
        Event::Padding(it) if physical => {
            put("event", "padding".into());
            put("offset", it.offset.into());
            put("bytes", it.bytes.into());
            let kind = match it.kind {
                Blank::Tail => "tail",
                Blank::Block => "block",
            };
            put("kind", kind.into());
        }
        Event::Own(own) => {
            let at = last?;
            put("event", "own".into());
            put("offset", at.offset.into());
            put("type", at.code.name(dunlin).into());
            put("code", at.code.0.into());
            put("bytes", at.payload_bytes.into());
            match own {
                Own::Header(Ok(header)) => put("header", header_json(header)),
                Own::SyncMark(offset) => put("synced_offset", (*offset).into()),
                Own::Compression(codec) => put("compression", codec.map(codec_name).into()),
                Own::Header(Err(_)) | Own::Pad | Own::Other => {}
            }
        }
        Event::Damage(it) => return Some(damage_json(it)),
        Event::End(it) => {
            put("event", "end".into());
            put("offset", it.offset.into());
            put("unused_bytes", it.unused_bytes.into());
            let rest = match it.rest {
                Rest::Nothing => "nothing",
                Rest::Zeros => "zeros",
                Rest::Stale { .. } => "stale",
            };
            put("rest", rest.into());
        }
        Event::Physical(_) | Event::Padding(_) => return None,
    }
    Some(Value::Object(object))
}

/// Damage as JSON.
pub fn damage_json(damage: &Damage) -> Value {
    json!({
        "event": "damage", "offset": damage.offset, "skipped_bytes": damage.skipped_bytes,
        "lost_bytes": damage.lost_bytes, "records_skipped": damage.records_skipped,
        "reason": damage.reason.to_string(),
    })
}

fn header_json(header: &SegmentHeader) -> Value {
    json!({
        "number": header.number, "first_index": header.first_index,
        "block_size_bytes": header.block_size_bytes,
        "padding": header.padding.to_string(),
        "compression": header.compression.to_string(), "direct_io": header.direct_io,
        "previous_synced": header.previous_synced, "previous_length": header.previous_length,
    })
}
