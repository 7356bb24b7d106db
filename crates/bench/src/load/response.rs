//! The least HTTP/1.1 response parser that a load generator needs.

use super::protocol::Malformed;

/// The head of a response; its body follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Bytes of the head, blank line included.
    pub head_length: usize,
    /// Bytes of the body.
    pub body_length: usize,
    /// Whether the server will close the connection.
    pub close: bool,
}

/// A head longer than this is not from a server under test.
const HEAD_LENGTH_MAX: usize = 16 * 1024;

/// Reads the head at the front of `input`; `None` until it is complete.
///
/// # Errors
/// [`Malformed`] for anything but an HTTP/1.1 head with a `Content-Length` (or a status without
/// a body).
pub fn parse(input: &[u8]) -> Result<Option<Response>, Malformed> {
    let Some(end) = head_end(input) else {
        if input.len() > HEAD_LENGTH_MAX {
            return Err(Malformed("the head does not end"));
        }
        return Ok(None);
    };
    let head = &input[..end];
    let mut lines = head
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = status(lines.next().unwrap_or_default())?;
    let mut length = None;
    let mut close = false;
    for line in lines {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(decimal(value).ok_or(Malformed("Content-Length is not a number"))?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Err(Malformed("a chunked body where a length was expected"));
        } else if name.eq_ignore_ascii_case(b"connection") {
            close = value.eq_ignore_ascii_case(b"close");
        }
    }
    let body_length = match (length, status) {
        (_, 204 | 304) => 0,
        (Some(length), _) => length,
        (None, _) => return Err(Malformed("no Content-Length")),
    };
    Ok(Some(Response {
        status,
        head_length: end,
        body_length,
        close,
    }))
}

fn head_end(input: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = input[from..].iter().position(|&byte| byte == b'\n') {
        let newline = from + found;
        if input[..newline].ends_with(b"\r\n\r") {
            return Some(newline + 1);
        }
        from = newline + 1;
    }
    None
}

fn status(line: &[u8]) -> Result<u16, Malformed> {
    let rest = line
        .strip_prefix(b"HTTP/1.1 ")
        .ok_or(Malformed("not HTTP/1.1"))?;
    match rest {
        [a, b, c] | [a, b, c, b' ', ..] if [a, b, c].iter().all(|d| d.is_ascii_digit()) => {
            Ok([a, b, c]
                .iter()
                .fold(0, |sum, digit| sum * 10 + u16::from(**digit - b'0')))
        }
        _ => Err(Malformed("no status code")),
    }
}

fn decimal(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
