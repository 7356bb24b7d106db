//! What an index gives at a time: pieces of an answer in the order wanted, as value and as bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_changes::wire::{Malformed, get_bytes, get_flag, put_bytes};
use dunlin_proto::Token;

use crate::reduce::{Aggregate, Reduce};

/// What is served, and what is not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Head {
    /// What the rows reflect, of those partitions alone that are served.
    pub token: Option<Token>,
    /// Rows that the index has of those, whatever is wanted of them.
    pub rows: u64,
    /// Why others are not.
    pub why_not: String,
    /// The first page, where it was at hand.
    pub page: Option<Page>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// Of which of the ranges wanted.
    pub range: u32,
    /// A row's place, or a group's key.
    pub at: Bytes,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// The value of a row, JSON.
    Row(Bytes),
    /// What some rows of a group are reduced to; there may be more of the same group.
    Group(Box<Aggregate>),
}

/// Pieces, and whether there are more.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Page {
    pub pieces: Vec<Piece>,
    pub is_last: bool,
}

impl Head {
    /// Nothing is served.
    pub fn nothing(why_not: impl Into<String>) -> Head {
        Head {
            token: None,
            rows: 0,
            why_not: why_not.into(),
            page: None,
        }
    }

    pub fn encode(&self, reduce: Option<Reduce>) -> Bytes {
        let mut out = BytesMut::new();
        let token = self.token.as_ref().map(Token::encode).unwrap_or_default();
        put_bytes(&mut out, &token);
        out.put_u64_le(self.rows);
        put_bytes(&mut out, self.why_not.as_bytes());
        out.put_u8(self.page.is_some().into());
        if let Some(page) = &self.page {
            out.put_slice(&page.encode(reduce));
        }
        out.freeze()
    }

    pub fn decode(reduce: Option<Reduce>, mut body: Bytes) -> Result<Head, Malformed> {
        let token = get_bytes(&mut body)?;
        let token = if token.is_empty() {
            None
        } else {
            Some(Token::decode(token).map_err(|_| Malformed)?)
        };
        let rows = body.try_get_u64_le().map_err(|_| Malformed)?;
        let why_not = String::from_utf8_lossy(&get_bytes(&mut body)?).into_owned();
        let page = if get_flag(&mut body)? {
            Some(Page::decode(reduce, body)?)
        } else {
            None
        };
        Ok(Head {
            token,
            rows,
            why_not,
            page,
        })
    }
}

impl Page {
    pub fn encode(&self, reduce: Option<Reduce>) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(self.is_last.into());
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            out.put_u32_le(piece.range);
            put_bytes(&mut out, &piece.at);
            match &piece.what {
                What::Row(value) => {
                    out.put_u8(0);
                    put_bytes(&mut out, value);
                }
                What::Group(aggregate) => {
                    out.put_u8(1);
                    bytes.clear();
                    // Only what is reduced comes in groups.
                    aggregate.encode(reduce.unwrap_or(Reduce::Count), &mut bytes);
                    put_bytes(&mut out, &bytes);
                }
            }
        }
        out.freeze()
    }

    pub fn decode(reduce: Option<Reduce>, mut body: Bytes) -> Result<Page, Malformed> {
        let is_last = get_flag(&mut body)?;
        let mut pieces = Vec::new();
        while body.has_remaining() {
            let range = body.try_get_u32_le().map_err(|_| Malformed)?;
            let at = get_bytes(&mut body)?;
            let is_group = get_flag(&mut body)?;
            let bytes = get_bytes(&mut body)?;
            let what = if !is_group {
                What::Row(bytes)
            } else {
                let reduce = reduce.ok_or(Malformed)?;
                let aggregate = Aggregate::decode(reduce, &mut &bytes[..]);
                What::Group(Box::new(aggregate.ok_or(Malformed)?))
            };
            pieces.push(Piece { range, at, what });
        }
        Ok(Page { pieces, is_last })
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
