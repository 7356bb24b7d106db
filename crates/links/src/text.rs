//! Bytes as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
