//! What a NATS server sends: lines, and messages behind some of them.

use crate::load::protocol::Malformed;

/// The server's own greeting is the longest line there is.
const LINE_LENGTH_MAX: usize = 64 * 1024;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Must be answered with `PONG`.
    Ping,
    /// A greeting or an acknowledgement, which need no answer.
    Said,
    /// A message to one of our subjects.
    Message(Message<'a>),
}

/// A message to one of our subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// To which.
    pub subject: &'a [u8],
    /// Its headers, when it has any: a line of their own, then `Name: value` lines.
    pub headers: Option<&'a [u8]>,
    /// What it says.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The one at the front of `input`, and its length; `None` until it is complete.
    ///
    /// # Errors
    /// [`Malformed`] for `-ERR` and for what no server sends.
    pub fn read(input: &'a [u8]) -> Result<Option<(Frame<'a>, usize)>, Malformed> {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            return if input.len() > LINE_LENGTH_MAX {
                Err(Malformed("a line does not end"))
            } else {
                Ok(None)
            };
        };
        let line = input[..end].trim_ascii_end();
        let mut words = line
            .split(|&byte| byte == b' ')
            .filter(|word| !word.is_empty());
        let (headers_length, length, subject) = match words.next().unwrap_or_default() {
            b"PING" => return Ok(Some((Frame::Ping, end + 1))),
            b"PONG" | b"INFO" | b"+OK" => return Ok(Some((Frame::Said, end + 1))),
            b"-ERR" => return Err(Malformed("the server says -ERR")),
            b"MSG" => {
                let (subject, [length]) = sizes(words)?;
                (None, length, subject)
            }
            b"HMSG" => {
                let (subject, [headers, length]) = sizes(words)?;
                (Some(headers), length, subject)
            }
            _ => return Err(Malformed("no operation of NATS")),
        };
        let Some((message, ending)) = input[end + 1..].split_at_checked(length) else {
            return Ok(None);
        };
        match ending {
            [] | [b'\r'] => return Ok(None),
            [b'\r', b'\n', ..] => {}
            _ => return Err(Malformed("a message that does not end where it must")),
        }
        let wrong = Malformed("headers longer than their message");
        let (headers, payload) = message
            .split_at_checked(headers_length.unwrap_or(0))
            .ok_or(wrong)?;
        let message = Message {
            subject,
            headers: headers_length.map(|_| headers),
            payload,
        };
        Ok(Some((Frame::Message(message), end + 1 + length + 2)))
    }
}

impl Message<'_> {
    /// The status in the headers' first line, `NATS/1.0 404 Message Not Found`: a failure. None where there is none.
    pub fn status(&self) -> Option<u16> {
        let line = self.headers?.strip_prefix(b"NATS/1.0 ")?;
        let code = line.split(|byte| !byte.is_ascii_digit()).next()?;
        std::str::from_utf8(code).ok()?.parse().ok()
    }
}

/// Subject and sizes of `subject sid [reply-to] size..`.
fn sizes<'a, const N: usize>(
    words: impl Iterator<Item = &'a [u8]>,
) -> Result<(&'a [u8], [usize; N]), Malformed> {
    let wrong = Malformed("a message without its sizes");
    let words: Vec<&[u8]> = words.collect();
    let [subject, _, rest @ ..] = words.as_slice() else {
        return Err(wrong);
    };
    let (reply, sizes) = rest.split_last_chunk::<N>().ok_or(wrong.clone())?;
    if reply.len() > 1 {
        return Err(wrong);
    }
    let mut numbers = [0; N];
    for (number, word) in numbers.iter_mut().zip(sizes) {
        let text = std::str::from_utf8(word).map_err(|_| wrong.clone())?;
        *number = text.parse().map_err(|_| wrong.clone())?;
    }
    Ok((subject, numbers))
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
