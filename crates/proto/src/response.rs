//! The answer to a question: the envelope, and the few that are no more than a word.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_message::{DecodeError, Message};

use crate::wire::malformed;
use crate::{
    BatchAnswer, ClockAnswer, FillPage, Page, PullAnswer, Reached, ReadAnswer, TailAnswer,
    VectorsAnswer, WriteAnswer,
};

/// The code with which a shard refuses a call that it cannot answer; the text beside it says why.
pub const CANNOT: u16 = 100;
/// Refusal of a node that acts by an older phase than the answerer, or has not said by which (`Acts`).
pub const BEHIND: u16 = 101;

/// The answer to a [`Request`](crate::Request) of the same name.
#[derive(Debug, Clone)]
pub enum Response {
    /// To `Write`.
    Written(WriteAnswer),
    /// To `Read`.
    Read(ReadAnswer),
    /// To `Replicate`.
    Replicated(BatchAnswer),
    /// To `Position`.
    Position(Version),
    /// To `Vectors`.
    Vectors(VectorsAnswer),
    /// To `Pull`.
    Pulled(PullAnswer),
    /// To `Snapshot`, `Scan` and `Far`.
    Page(Page),
    /// To `Repair`: logged and applied. To `Leaving`: noted.
    Done,
    /// To `Status`.
    Status(Bytes),
    /// To `Fill`.
    Filled(FillPage),
    /// To `Tail`.
    Tail(TailAnswer),
    /// To `Move`.
    Moved(Bytes),
    /// To `Reach`.
    Reached(Reached),
    /// To `Ready`.
    Ready(Bytes),
    /// To `Clock`.
    Clock(ClockAnswer),
    /// To `Plug`: an answer, or an item of a stream.
    Plug(Bytes),
}

impl Message for Response {
    fn encode(&self, out: &mut BytesMut) {
        match self {
            Response::Written(m) => {
                out.put_u8(1);
                m.encode(out);
            }
            Response::Read(m) => {
                out.put_u8(2);
                m.encode(out);
            }
            Response::Replicated(m) => {
                out.put_u8(3);
                m.encode(out);
            }
            Response::Position(version) => {
                out.put_u8(4);
                out.put_u64_le(version.0);
            }
            Response::Vectors(m) => {
                out.put_u8(5);
                m.encode(out);
            }
            Response::Pulled(m) => {
                out.put_u8(6);
                m.encode(out);
            }
            Response::Page(m) => {
                out.put_u8(7);
                m.encode(out);
            }
            Response::Done => out.put_u8(8),
            Response::Status(json) => {
                out.put_u8(9);
                out.put_slice(json);
            }
            Response::Filled(m) => {
                out.put_u8(10);
                m.encode(out);
            }
            Response::Tail(m) => {
                out.put_u8(11);
                m.encode(out);
            }
            Response::Moved(json) => {
                out.put_u8(12);
                out.put_slice(json);
            }
            Response::Reached(m) => {
                out.put_u8(20);
                m.encode(out);
            }
            Response::Ready(json) => {
                out.put_u8(22);
                out.put_slice(json);
            }
            Response::Clock(m) => {
                out.put_u8(24);
                m.encode(out);
            }
            Response::Plug(body) => {
                out.put_u8(27);
                out.put_slice(body);
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(match body.try_get_u8().map_err(malformed)? {
            1 => Response::Written(WriteAnswer::decode(body)?),
            2 => Response::Read(ReadAnswer::decode(body)?),
            3 => Response::Replicated(BatchAnswer::decode(body)?),
            4 => Response::Position(Version(body.try_get_u64_le().map_err(malformed)?)),
            5 => Response::Vectors(VectorsAnswer::decode(body)?),
            6 => Response::Pulled(PullAnswer::decode(body)?),
            7 => Response::Page(Page::decode(body)?),
            8 => Response::Done,
            9 => Response::Status(body),
            10 => Response::Filled(FillPage::decode(body)?),
            11 => Response::Tail(TailAnswer::decode(body)?),
            12 => Response::Moved(body),
            20 => Response::Reached(Reached::decode(&mut body)?),
            22 => Response::Ready(body),
            24 => Response::Clock(ClockAnswer::decode(body)?),
            27 => Response::Plug(body),
            kind => return Err(malformed(format!("unknown response kind {kind}"))),
        })
    }

    fn weight(&self) -> usize {
        64 + match self {
            Response::Read(ReadAnswer::Value(item)) => item.value.len(),
            Response::Pulled(PullAnswer::Entries { entries, .. }) => {
                entries.iter().map(Bytes::len).sum()
            }
            Response::Filled(page) => page.run.size_bytes(),
            Response::Page(page) => page
                .items
                .iter()
                .map(|i| i.key.len() + i.value.len() + 32)
                .sum(),
            Response::Tail(TailAnswer::Entries { entries, .. }) => {
                entries.iter().map(Bytes::len).sum()
            }
            Response::Status(json) | Response::Moved(json) | Response::Ready(json) => json.len(),
            Response::Plug(body) => body.len(),
            Response::Clock(m) => m.weight(),
            _ => 0,
        }
    }
}
