//! A keyspace read and written over HTTP, by code that shares nothing with the client.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::harness::answer::Answer;
use crate::harness::percent;
use crate::harness::wire::Wire;

/// The content type of pairs in bulk.
pub const PAIRS: &str = "application/vnd.dunlin.pairs";

/// Creates one that does not wait for disks.
pub fn create(port: u16, name: &str, replicas: u8) {
    let body = format!(r#"{{"name":"{name}","sync":"never","replicas":{replicas}}}"#);
    let answer = Wire::open(port).request("POST", "/v1/keyspaces", body);
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// All there is.
pub fn scan(port: u16, name: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let path = format!("/v1/keyspaces/{name}/keys");
    let answer = Wire::open(port).request("GET", &path, b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    pairs_of(&answer)
}

/// The pairs of a range as it was answered.
pub fn pairs_of(answer: &Answer) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let lines = answer.text().lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let bytes = |name: &str| match line[name].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => {
                    let coded = line[format!("{name}_base64")].as_str();
                    STANDARD.decode(coded.unwrap()).unwrap()
                }
            };
            (bytes("key"), bytes("value"))
        })
        .collect()
}

/// One request about a key.
pub fn key(port: u16, method: &str, name: &str, key: &[u8], value: &[u8]) -> Answer {
    let path = format!("/v1/keyspaces/{name}/keys/{}", percent(key));
    Wire::open(port).request(method, &path, value)
}

/// Pairs as they are sent in bulk.
pub fn body(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in pairs {
        body.extend_from_slice(&(key.len() as u32).to_le_bytes());
        body.extend_from_slice(&(value.len() as u32).to_le_bytes());
        body.extend_from_slice(key);
        body.extend_from_slice(value);
    }
    let checksum = crc32c(&body);
    body.extend_from_slice(&checksum.to_le_bytes());
    body
}

/// Sends `body` in bulk.
pub fn bulk(port: u16, path: &str, content_type: &str, body: &[u8]) -> Answer {
    let mut wire = Wire::open(port);
    let length = body.len();
    wire.send(format!(
        "POST {path} HTTP/1.1\r\nHost: dunlin\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n"
    ));
    wire.send(body);
    wire.answer()
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1))
        })
    })
}
