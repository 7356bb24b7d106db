//! How a receiver's error becomes the sender's.

use crate::CopyError;
use crate::error::RefusalCode;
use crate::wire::link::Link;
use crate::wire::message;

/// The body of a refusal.
pub(crate) fn encode(error: &CopyError) -> Vec<u8> {
    message::encode_refused(error.code().number(), &error.to_string())
}

/// What a refusal means to the sender.
pub(crate) fn decode(link: &Link, body: &[u8]) -> CopyError {
    match message::decode_refused(body) {
        Ok((code, text)) => match RefusalCode::of(code) {
            RefusalCode::Mismatch => CopyError::Mismatch { what: text },
            code => CopyError::Receiver {
                code,
                text: match link.is_remote() {
                    true => format!("{}: {text}", link.peer()),
                    false => text,
                },
            },
        },
        Err(_) => link.out_of_turn(message::kind::REFUSED),
    }
}
