//! Rows of fields: quotes, doubled quotes, line ends inside quotes, both kinds of line end.

use std::io::{self, BufRead};

use crate::import::record::too_long;

/// One row; reused from row to row.
#[derive(Debug, Default)]
pub struct Row {
    /// The line it begins on, from 1.
    pub line: u64,
    /// Why it cannot be used.
    pub fault: Option<String>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Row {
    /// Its fields, unquoted.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(0, |start, end| {
            Some(&self.text[std::mem::replace(start, *end)..*end])
        })
    }

    fn begin(&mut self, line: u64) {
        *self = Row {
            line,
            fault: None,
            text: std::mem::take(&mut self.text),
            ends: std::mem::take(&mut self.ends),
        };
        self.text.clear();
        self.ends.clear();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote inside quotes: the second of a pair, or the end of the field.
    Quote,
    /// Behind the carriage return that follows a quoted field.
    Return,
    /// After a fault that leaves the fields unknown: up to the line's end.
    Skipping,
}

/// Splits an input into rows and counts its lines.
pub struct Rows<R> {
    reader: R,
    limit_bytes: usize,
    line: u64,
}

impl<R: BufRead> Rows<R> {
    /// Rows of `reader` whose fields together have up to `limit_bytes`.
    pub fn new(reader: R, limit_bytes: usize) -> Rows<R> {
        Rows {
            reader,
            limit_bytes,
            line: 1,
        }
    }

    /// Reads the next row that is no empty line; `false` at the end.
    pub fn next(&mut self, row: &mut Row) -> io::Result<bool> {
        loop {
            row.begin(self.line);
            match self.read(row)? {
                Ending::Row => return Ok(true),
                Ending::Blank => {}
                Ending::Input => return Ok(false),
            }
        }
    }

    fn read(&mut self, row: &mut Row) -> io::Result<Ending> {
        let mut state = State::FieldStart;
        let mut quoted = false;
        let mut any = false;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                if !any {
                    return Ok(Ending::Input);
                }
                if state == State::Quoted {
                    row.fault.get_or_insert_with(|| {
                        "a quote is not closed before the file ends".to_owned()
                    });
                }
                row.ends.push(row.text.len());
                return Ok(if is_blank(row, quoted) {
                    Ending::Input
                } else {
                    Ending::Row
                });
            }
            any = true;
            let mut used = 0;
            let mut ended = false;
            for byte in available {
                used += 1;
                self.line += u64::from(*byte == b'\n');
                let next = step(state, *byte, row);
                quoted |= next == Next::State(State::Quoted);
                match next {
                    Next::State(next) => state = next,
                    Next::EndOfRow => {
                        ended = true;
                        break;
                    }
                }
                if row.text.len() > self.limit_bytes {
                    row.fault.get_or_insert_with(|| too_long(self.limit_bytes));
                }
                if row.fault.is_some() {
                    row.text.clear();
                    row.ends.clear();
                }
            }
            self.reader.consume(used);
            if ended {
                return Ok(if is_blank(row, quoted) {
                    Ending::Blank
                } else {
                    Ending::Row
                });
            }
        }
    }
}

enum Ending {
    Row,
    Blank,
    Input,
}

fn is_blank(row: &Row, quoted: bool) -> bool {
    !quoted && row.fault.is_none() && row.text.is_empty() && row.ends.len() == 1
}

#[derive(PartialEq, Eq)]
enum Next {
    State(State),
    EndOfRow,
}

fn step(state: State, byte: u8, row: &mut Row) -> Next {
    match (state, byte) {
        (State::FieldStart, b'"') => Next::State(State::Quoted),
        (State::Quoted, b'"') => Next::State(State::Quote),
        (State::Quote, b'"') | (State::Quoted, _) => {
            row.text.push(byte);
            Next::State(State::Quoted)
        }
        (State::FieldStart | State::Unquoted | State::Quote, b',') => {
            row.ends.push(row.text.len());
            Next::State(State::FieldStart)
        }
        (State::FieldStart | State::Unquoted, b'\n') => {
            let start = row.ends.last().copied().unwrap_or(0);
            if row.text.len() > start && row.text.last() == Some(&b'\r') {
                row.text.pop();
            }
            row.ends.push(row.text.len());
            Next::EndOfRow
        }
        (State::Quote | State::Return | State::Skipping, b'\n') => {
            row.ends.push(row.text.len());
            Next::EndOfRow
        }
        (State::FieldStart | State::Unquoted, _) => {
            row.text.push(byte);
            Next::State(State::Unquoted)
        }
        (State::Quote, b'\r') => Next::State(State::Return),
        (State::Quote | State::Return, _) => {
            row.fault
                .get_or_insert_with(|| "text stands behind a closing quote".to_owned());
            Next::State(State::Skipping)
        }
        (State::Skipping, _) => Next::State(State::Skipping),
    }
}
