//! Keys and values between bytes and text.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

/// An argument's bytes, whatever they are.
pub fn bytes(argument: OsString) -> Bytes {
    Bytes::from(argument.into_vec())
}

/// Puts bytes into a JSON object as text, or under `NAME_base64` when they are not UTF-8.
pub fn insert(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), text.into()),
        Err(_) => object.insert(format!("{name}_base64"), STANDARD.encode(bytes).into()),
    };
}

/// A key for a message.
pub fn shown(key: &[u8]) -> String {
    format!("\"{}\"", key.escape_ascii())
}
