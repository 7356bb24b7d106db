//! Lines of bounded length: a longer one is passed over without being kept.

use std::io::{self, BufRead};

/// The next line of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It is in the buffer, without its line feed or carriage return and line feed.
    Read,
    /// It is longer than the limit and was passed over.
    TooLong,
    /// There is none.
    End,
}

/// Splits an input at line feeds and counts the lines.
pub struct Lines<R> {
    reader: R,
    limit_bytes: usize,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of `reader` up to `limit_bytes` long.
    pub fn new(reader: R, limit_bytes: usize) -> Lines<R> {
        Lines {
            reader,
            limit_bytes,
            number: 0,
        }
    }

    /// The number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line into `buffer`, whose earlier content goes.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<Line> {
        buffer.clear();
        let mut read_any = false;
        let mut too_long = false;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                break;
            }
            read_any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            // One byte more than the limit: it may be the carriage return.
            if buffer.len() + piece.len() > self.limit_bytes + 1 {
                too_long = true;
                *buffer = Vec::new();
            } else if !too_long {
                buffer.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !read_any {
            return Ok(Line::End);
        }
        self.number += 1;
        if buffer.last() == Some(&b'\r') {
            buffer.pop();
        }
        if too_long || buffer.len() > self.limit_bytes {
            buffer.clear();
            return Ok(Line::TooLong);
        }
        Ok(Line::Read)
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
