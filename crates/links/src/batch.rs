//! The body of `entries`: entries on their way to another cluster. `docs/formats.md`, section 18.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Entry, Kind, Version};

/// Its content type.
pub const CONTENT_TYPE: &str = "application/vnd.dunlin.entries";
const FORM: u8 = 1;
const REPAIR: u8 = 1;
/// Bytes before the first entry.
const HEAD_BYTES: usize = 1 + 16 + 4 + 4 + 8 + 8 + 1;
/// The least bytes of an entry with its length.
const ENTRY_BYTES_MIN: usize = 4 + 30;

/// The head of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    /// Id of the cluster that sends.
    pub cluster: u128,
    /// Number of the keyspace at the receiver.
    pub keyspace: u32,
    /// Number of the link at the sender.
    pub link: u32,
    /// The sender's clock when it sends.
    pub sent: Version,
    /// The entries may be logged up to this time.
    pub deadline: Version,
    /// They repair the receiver: entries that its own cluster made count.
    pub is_repair: bool,
}

/// Why a body is no batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A newer version of the sender made it.
    #[error("the batch is of form {0}, which this version does not know")]
    Form(u8),
    /// It was cut or changed on its way.
    #[error("the batch is damaged: {0}")]
    Damaged(&'static str),
    /// The sender has a defect.
    #[error("an entry of the batch makes no sense: {0}")]
    Entry(String),
}

/// Entries that are gathered for one request.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    entries: BytesMut,
    /// How many there are.
    pub count: usize,
    /// Bytes of their keys and values.
    pub payload_bytes: u64,
    /// When the latest of them were logged, in milliseconds since 1970; not stored records.
    pub logged_ms: Vec<u64>,
}

impl Builder {
    /// Bytes of the entries, encoded.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds an entry, without its place in this cluster.
    pub fn push(&mut self, entry: &Entry) {
        let entry = Entry {
            copy: false,
            from: 0,
            partition: 0,
            keyspace: 0,
            logged: None,
            ..entry.clone()
        };
        self.entries.put_u32_le(entry.encoded_len() as u32);
        entry.encode_into(&mut self.entries);
        self.count += 1;
        self.payload_bytes += (entry.key.len() + entry.value.len()) as u64;
    }

    /// The body.
    pub fn finish(self, preamble: &Preamble) -> Bytes {
        let mut out = BytesMut::with_capacity(HEAD_BYTES + self.entries.len() + 4);
        out.put_u8(FORM);
        out.put_u128_le(preamble.cluster);
        out.put_u32_le(preamble.keyspace);
        out.put_u32_le(preamble.link);
        out.put_u64_le(preamble.sent.0);
        out.put_u64_le(preamble.deadline.0);
        out.put_u8(u8::from(preamble.is_repair) * REPAIR);
        out.put_slice(&self.entries);
        out.put_u32_le(crc32c::crc32c(&out));
        out.freeze()
    }
}

/// Reads a body: keys and values share it.
///
/// # Errors
/// See [`BatchError`].
pub fn decode(mut body: Bytes) -> Result<(Preamble, Vec<Entry>), BatchError> {
    match body.first() {
        Some(&FORM) => {}
        None => return Err(BatchError::Damaged("it is empty")),
        Some(form) => return Err(BatchError::Form(*form)),
    }
    let length = body.len().checked_sub(4).filter(|l| *l >= HEAD_BYTES);
    let length = length.ok_or(BatchError::Damaged("it is cut short"))?;
    let mut sum = body.split_off(length);
    if sum.get_u32_le() != crc32c::crc32c(&body) {
        return Err(BatchError::Damaged("its checksum is wrong"));
    }
    body.advance(1);
    let preamble = Preamble {
        cluster: body.get_u128_le(),
        keyspace: body.get_u32_le(),
        link: body.get_u32_le(),
        sent: Version(body.get_u64_le()),
        deadline: Version(body.get_u64_le()),
        is_repair: match body.get_u8() {
            0 => false,
            REPAIR => true,
            _ => return Err(BatchError::Damaged("it has unknown flags")),
        },
    };
    let mut entries = Vec::with_capacity(body.len() / ENTRY_BYTES_MIN / 4);
    while !body.is_empty() {
        let length = body.try_get_u32_le().unwrap_or(u32::MAX) as usize;
        if length > body.len() {
            return Err(BatchError::Damaged("an entry is cut short"));
        }
        let entry = Entry::decode(body.split_to(length));
        let entry = entry.map_err(|error| BatchError::Entry(error.to_string()))?;
        check(&entry)?;
        entries.push(entry);
    }
    Ok((preamble, entries))
}

fn check(entry: &Entry) -> Result<(), BatchError> {
    let wrong = |what: &str| Err(BatchError::Entry(what.to_owned()));
    if !matches!(entry.kind, Kind::Put | Kind::Delete) {
        return wrong("it is neither a put nor a delete");
    }
    if entry.copy || entry.logged.is_some() {
        return wrong("it says where it is in the log of another cluster");
    }
    Ok(())
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
