//! A value that counts once its transaction has committed. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;

use crate::command::{Malformed, bytes, number, put_bytes, version};

/// What a transaction has written to a key of a range that does not hold its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The transaction.
    pub txn: Version,
    /// The range that holds its record.
    pub holder: u64,
    /// The value; none deletes the key.
    pub value: Option<Bytes>,
}

impl Intent {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(32);
        out.put_u64_le(self.txn.0);
        out.put_u64_le(self.holder);
        out.put_u8(self.value.is_some().into());
        put_bytes(&mut out, self.value.as_deref().unwrap_or_default());
        out.into()
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are no intent's.
    pub fn decode(mut from: Bytes) -> Result<Intent, Malformed> {
        let from = &mut from;
        let (txn, holder) = (version(from)?, number(from)?);
        let is_put = from
            .try_get_u8()
            .map_err(|_| Malformed("it is cut short"))?
            != 0;
        let value = bytes(from)?;
        Ok(Intent {
            txn,
            holder,
            value: is_put.then_some(value),
        })
    }
}
