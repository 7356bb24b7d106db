//! As much of protocol buffers as a request needs that is a few fields, and an answer of which one is wanted.

/// Appends a field of bytes whose number is below 16.
pub fn put_bytes(number: u8, length: usize, out: &mut Vec<u8>, bytes: impl FnOnce(&mut Vec<u8>)) {
    out.push(number << 3 | LENGTH_DELIMITED);
    put_varint(length as u64, out);
    bytes(out);
}

/// Appends a field that is true.
pub fn put_true(number: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[number << 3 | VARINT, 1]);
}

/// The first field of bytes with this number; `None` when there is none, or before it what is no message.
pub fn bytes(mut message: &[u8], wanted: u64) -> Option<&[u8]> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let field = match (tag & 7) as u8 {
            VARINT => {
                varint(&mut message)?;
                continue;
            }
            FIXED_64 => take(&mut message, 8)?,
            LENGTH_DELIMITED => {
                let length = varint(&mut message)?;
                take(&mut message, usize::try_from(length).ok()?)?
            }
            FIXED_32 => take(&mut message, 4)?,
            _ => return None,
        };
        if tag == wanted << 3 | u64::from(LENGTH_DELIMITED) {
            return Some(field);
        }
    }
    None
}

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const LENGTH_DELIMITED: u8 = 2;
const FIXED_32: u8 = 5;

fn take<'a>(message: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(taken)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = message.split_first()?;
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
#[path = "protobuf_tests.rs"]
mod tests;
