//! A range as pairs, streamed: a large value goes out of the memory it was read into.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_proto::pairs;
use futures_util::{StreamExt, stream};
use hyper::body::Frame;

use super::reply::Chunks;
use super::scan::Records;
use crate::quorum::Failure;

/// Pairs are gathered up to this many bytes; a value that is larger goes by itself.
const CHUNK_BYTES: usize = 64 << 10;
/// Room for the pair that fills a chunk.
const ROOM_BYTES: usize = CHUNK_BYTES + (4 << 10);

struct Encoder {
    records: Records,
    ready: VecDeque<Bytes>,
    checksum: u32,
    is_at_end: bool,
}

/// The records as `docs/formats.md` section 9 says.
pub(super) fn chunks(records: Records) -> Chunks {
    let encoder = Encoder {
        records,
        ready: VecDeque::new(),
        checksum: 0,
        is_at_end: false,
    };
    stream::try_unfold(encoder, |mut encoder| async move {
        let chunk = encoder.next().await?;
        Ok(chunk.map(|chunk| (Frame::data(chunk), encoder)))
    })
    .boxed_local()
}

impl Encoder {
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        if self.ready.is_empty() && !self.is_at_end {
            self.gather().await?;
        }
        Ok(self.ready.pop_front())
    }

    async fn gather(&mut self) -> Result<(), Failure> {
        let mut chunk = BytesMut::with_capacity(ROOM_BYTES);
        let mut large = None;
        while chunk.len() < CHUNK_BYTES && large.is_none() {
            let Some(item) = self.records.next().await? else {
                self.is_at_end = true;
                break;
            };
            let (key_bytes, value_bytes) = (item.key.len(), item.value.len());
            pairs::put_head(&mut chunk, key_bytes, value_bytes, item.expiry_ms);
            chunk.put_slice(&item.key);
            if item.value.len() > CHUNK_BYTES {
                large = Some(item.value)
            } else {
                chunk.put_slice(&item.value)
            }
        }
        self.checksum = crc32c::crc32c_append(self.checksum, &chunk);
        if let Some(value) = &large {
            self.checksum = crc32c::crc32c_append(self.checksum, value);
        }
        if self.is_at_end {
            chunk.put_u32_le(self.checksum);
        }
        self.ready.push_back(chunk.freeze());
        self.ready.extend(large);
        Ok(())
    }
}
