//! Events as lines of JSON, or as server-sent events. Written byte by byte: there are hundreds of thousands a
//! second.

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, BytesMut};
use dunlin_entry::{Entry, Kind, Version};
use dunlin_node::Scope;
use dunlin_proto::Token;

use crate::change::Change;
use crate::outbox::{LARGE_BYTES, Outbox, escape};

/// How events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Lines,
    /// Server-sent events; the token is the id.
    Events,
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Limit,
    Until,
    Wait,
    Stopping,
    Forbidden,
    Unreachable,
    Taken,
    PutBack,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Limit => "limit",
            Reason::Until => "until",
            Reason::Wait => "wait",
            Reason::Stopping => "stopping",
            Reason::Forbidden => "forbidden",
            Reason::Unreachable => "unreachable",
            Reason::Taken => "taken",
            Reason::PutBack => "put_back",
        }
    }
}

impl Form {
    pub fn media_type(self) -> &'static str {
        match self {
            Form::Lines => "application/x-ndjson",
            Form::Events => "text/event-stream",
        }
    }

    /// A change, as of a time in milliseconds since 1970: a value whose time is over is absent.
    pub fn change(self, out: &mut Outbox, change: &Rc<Change>, keys_only: bool, now_ms: u64) {
        self.begin(out.buffer(), "change", None);
        if is_large(change, keys_only, now_ms) {
            large_object(out, change, change.is_text());
        } else {
            change.line(keys_only, out.buffer(), |out| {
                object(out, change, keys_only, now_ms);
            });
        }
        self.end(out.buffer());
    }

    /// The same of a stored record.
    pub fn record(self, out: &mut Outbox, record: &Entry, keys_only: bool, now_ms: u64) {
        self.begin(out.buffer(), "change", None);
        if is_large(record, keys_only, now_ms) {
            let is_text = std::str::from_utf8(&record.value).is_ok();
            large_object(out, record, is_text);
        } else {
            object(out.buffer(), record, keys_only, now_ms);
        }
        self.end(out.buffer());
    }

    pub fn snapshot_begins(
        self,
        out: &mut BytesMut,
        partition: u16,
        scope: Scope,
        token: Option<&Token>,
    ) {
        self.begin(out, "snapshot_begins", token);
        out.put_slice(b",\"partition\":");
        number(out, partition.into());
        out.put_slice(match scope {
            Scope::Delta => b",\"scope\":\"delta\"",
            Scope::Complete => b",\"scope\":\"complete\"",
        });
        self.end(out);
    }

    pub fn snapshot_ends(self, out: &mut BytesMut, partition: u16, token: Option<&Token>) {
        self.begin(out, "snapshot_ends", token);
        out.put_slice(b",\"partition\":");
        number(out, partition.into());
        self.end(out);
    }

    /// `forgotten` is up to where deletes may be forgotten.
    pub fn progress(self, out: &mut BytesMut, token: Option<&Token>, forgotten: Option<Version>) {
        self.begin(out, "progress", token);
        if let Some(version) = forgotten {
            text(out, "deletes_forgotten", &version.to_string());
        }
        self.end(out);
    }

    pub fn cursor(self, out: &mut BytesMut, name: &str, generation: u64) {
        self.begin(out, "cursor", None);
        text(out, "name", name);
        out.put_slice(b",\"generation\":");
        number(out, generation);
        self.end(out);
    }

    pub fn moved(self, out: &mut BytesMut, partitions: &[u16], to: &str) {
        self.begin(out, "moved", None);
        out.put_slice(b",\"partitions\":[");
        for (at, partition) in partitions.iter().enumerate() {
            if at > 0 {
                out.put_u8(b',');
            }
            number(out, (*partition).into());
        }
        out.put_u8(b']');
        text(out, "to", to);
        self.end(out);
    }

    pub fn dropped(self, out: &mut BytesMut) {
        self.begin(out, "dropped", None);
        self.end(out);
    }

    pub fn ended(self, out: &mut BytesMut, reason: Reason, token: Option<&Token>) {
        self.begin(out, "end", token);
        text(out, "reason", reason.text());
        self.end(out);
    }

    fn begin(self, out: &mut BytesMut, event: &str, token: Option<&Token>) {
        let token = token.map(Token::to_string);
        if self == Form::Events {
            out.put_slice(b"event: ");
            out.put_slice(event.as_bytes());
            if let Some(token) = &token {
                out.put_slice(b"\nid: ");
                out.put_slice(token.as_bytes());
            }
            out.put_slice(b"\ndata: ");
        }
        out.put_slice(b"{\"event\":\"");
        out.put_slice(event.as_bytes());
        out.put_u8(b'"');
        if let Some(token) = &token {
            text(out, "token", token);
        }
    }

    fn end(self, out: &mut BytesMut) {
        match self {
            Form::Lines => out.put_slice(b"}\n"),
            Form::Events => out.put_slice(b"}\n\n"),
        }
    }
}

/// Whether a value goes out in pieces.
fn is_large(entry: &Entry, keys_only: bool, now_ms: u64) -> bool {
    let has_value = !keys_only && entry.kind == Kind::Put && !is_over(entry, now_ms);
    has_value && entry.value.len() > LARGE_BYTES
}

fn is_over(entry: &Entry, now_ms: u64) -> bool {
    entry.expiry_ms.is_some_and(|expiry| expiry <= now_ms)
}

/// What a change says behind its name.
fn object(out: &mut BytesMut, entry: &Entry, keys_only: bool, now_ms: u64) {
    head(out, entry);
    match entry.kind {
        Kind::Put if !is_over(entry, now_ms) => {
            if !keys_only {
                bytes(out, "value", &entry.value);
            }
            expiry(out, entry);
        }
        Kind::Put => out.put_slice(b",\"absent\":\"expired\""),
        _ if entry.is_expiry => out.put_slice(b",\"absent\":\"expired\""),
        _ => out.put_slice(b",\"absent\":\"deleted\""),
    }
    versions(out, entry);
}

/// The same of a change with a large value.
fn large_object(out: &mut Outbox, entry: &Entry, is_text: bool) {
    head(out.buffer(), entry);
    let name: &[u8] = if is_text {
        b",\"value\":\""
    } else {
        b",\"value_base64\":\""
    };
    out.buffer().put_slice(name);
    out.large(&entry.value, is_text);
    out.buffer().put_u8(b'"');
    expiry(out.buffer(), entry);
    versions(out.buffer(), entry);
}

fn head(out: &mut BytesMut, entry: &Entry) {
    out.put_slice(b",\"partition\":");
    number(out, entry.partition.into());
    bytes(out, "key", &entry.key);
}

fn expiry(out: &mut BytesMut, entry: &Entry) {
    if let Some(expiry_ms) = entry.expiry_ms {
        out.put_slice(b",\"expires_at_ms\":");
        number(out, expiry_ms);
    }
}

fn versions(out: &mut BytesMut, entry: &Entry) {
    out.put_slice(b",\"version\":\"");
    out.put_slice(&entry.stamp.to_text());
    out.put_slice(b"\",\"rank\":\"");
    out.put_slice(entry.rank().to_text().as_bytes());
    out.put_u8(b'"');
}

fn number(out: &mut BytesMut, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.put_slice(&digits[at..]);
}

/// As text where it is text; else in base64 under another name.
fn bytes(out: &mut BytesMut, name: &str, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(value) => text(out, name, value),
        Err(_) => {
            out.put_slice(b",\"");
            out.put_slice(name.as_bytes());
            out.put_slice(b"_base64\":\"");
            out.put_slice(STANDARD.encode(value).as_bytes());
            out.put_u8(b'"');
        }
    }
}

fn text(out: &mut BytesMut, name: &str, value: &str) {
    out.put_slice(b",\"");
    out.put_slice(name.as_bytes());
    out.put_slice(b"\":\"");
    escape(out, value.as_bytes());
    out.put_u8(b'"');
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
