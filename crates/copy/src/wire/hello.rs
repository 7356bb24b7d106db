//! The bytes that open a connection, and the answer to them.

use std::io::{self, Read, Write};

use dunlin_secret::Refusal;

use crate::CopyError;

/// The version of the protocol that this crate speaks.
pub(crate) const PROTOCOL: u16 = 1;
pub(crate) const MAGIC: &[u8; 4] = b"DNCP";
pub(crate) const HELLO_BYTES: usize = 12;
const ACCEPTED: u16 = 0;
const PROTOCOL_UNKNOWN: u16 = 1;
/// Whoever opens is to prove the secret before it says hello.
pub(crate) const SECRET_ASKED: u16 = 2;

pub(crate) fn encode(last: u16) -> [u8; HELLO_BYTES] {
    let mut hello = [0; HELLO_BYTES];
    hello[..4].copy_from_slice(MAGIC);
    hello[4..6].copy_from_slice(&PROTOCOL.to_le_bytes());
    hello[6..8].copy_from_slice(&last.to_le_bytes());
    let checksum = crc32c::crc32c(&hello[..8]);
    hello[8..].copy_from_slice(&checksum.to_le_bytes());
    hello
}

/// Protocol and last field, or what is wrong with the bytes.
fn decode(hello: [u8; HELLO_BYTES]) -> Result<(u16, u16), &'static str> {
    let [m0, m1, m2, m3, p0, p1, s0, s1, c0, c1, c2, c3] = hello;
    if [m0, m1, m2, m3] != *MAGIC {
        return Err("does not speak the copy protocol (is it `dunlin receive`?)");
    }
    if crc32c::crc32c(&hello[..8]) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err("opened the connection with damaged bytes");
    }
    Ok((u16::from_le_bytes([p0, p1]), u16::from_le_bytes([s0, s1])))
}

/// Opens a connection to `peer`.
pub(crate) fn open<S: Read + Write>(stream: &mut S, peer: &str) -> Result<(), CopyError> {
    let lost = |error: io::Error| CopyError::Lost {
        peer: peer.to_owned(),
        detail: error.to_string(),
    };
    let protocol = |detail: String| CopyError::Protocol {
        peer: peer.to_owned(),
        detail,
    };
    stream.write_all(&encode(0)).map_err(lost)?;
    let mut answer = [0; HELLO_BYTES];
    // Whoever speaks another protocol may answer with fewer bytes and hang up.
    let mut have = 0;
    while have < HELLO_BYTES {
        match stream.read(&mut answer[have..]) {
            Ok(0) if have > 0 && !MAGIC.starts_with(&answer[..have.min(4)]) => break,
            Ok(0) => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(lost(error)),
        }
    }
    match decode(answer) {
        Ok((_, ACCEPTED)) => Ok(()),
        Ok((_, SECRET_ASKED)) => Err(CopyError::Untrusted {
            peer: peer.to_owned(),
            refusal: Refusal::Asked,
        }),
        Ok((PROTOCOL, _)) => Err(CopyError::Lost {
            peer: peer.to_owned(),
            detail: "the opening was damaged on the way".to_owned(),
        }),
        Ok((theirs, _)) => Err(protocol(format!(
            "the receiver speaks version {theirs} of the copy protocol, this program version {PROTOCOL}"
        ))),
        Err(detail) => Err(protocol(detail.to_owned())),
    }
}

/// Answers a hello.
pub(crate) fn accept<S: Write>(
    stream: &mut S,
    hello: [u8; HELLO_BYTES],
    peer: &str,
) -> Result<(), CopyError> {
    let lost = |error: io::Error| CopyError::Lost {
        peer: peer.to_owned(),
        detail: error.to_string(),
    };
    let refusal = match decode(hello) {
        Ok((PROTOCOL, _)) => None,
        Ok((theirs, _)) => Some(format!(
            "the sender speaks version {theirs} of the copy protocol, this program version {PROTOCOL}"
        )),
        Err(detail) => Some(detail.to_owned()),
    };
    let status = if refusal.is_none() {
        ACCEPTED
    } else {
        PROTOCOL_UNKNOWN
    };
    stream.write_all(&encode(status)).map_err(lost)?;
    match refusal {
        None => Ok(()),
        Some(detail) => Err(CopyError::Protocol {
            peer: peer.to_owned(),
            detail,
        }),
    }
}
