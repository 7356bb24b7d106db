//! How a receiver's error becomes the sender's.

use super::message::{self, Malformed};
use crate::CopyError;
use crate::error::RefusalCode;

/// The body of a refusal.
pub(crate) fn encode(error: &CopyError) -> Vec<u8> {
    message::encode_refused(error.code().number(), &error.to_string())
}

/// What a refusal means to the sender; `address` is the receiver's when it is another process.
pub(crate) fn decode(body: &[u8], address: Option<&str>) -> Result<CopyError, Malformed> {
    let (code, text) = message::decode_refused(body)?;
    Ok(match RefusalCode::of(code) {
        RefusalCode::Mismatch => CopyError::Mismatch { what: text },
        code => CopyError::Receiver {
            code,
            text: match address {
                Some(address) => format!("{address}: {text}"),
                None => text,
            },
        },
    })
}
