//! Requests of other shards, as bytes; what is asked of leaders and what they answer is in `dunlin_txn`.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_proto::ShardAddress;
use dunlin_txn::Request;
pub(crate) use dunlin_txn::{get_bytes, put_bytes};

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 3;
/// Messages between replicas.
pub(crate) const MESSAGES: u8 = 1;
/// A request to a range's leader.
pub(crate) const ASK: u8 = 2;
/// All rows of a range.
pub(crate) const SNAPSHOT: u8 = 3;
/// A step of a transaction that is kept at the shard which is asked.
pub(crate) const STEP: u8 = 4;
/// Whether a replica is here.
pub(crate) const PROBE: u8 = 5;
/// A replica is to be made.
pub(crate) const PREPARE: u8 = 6;
/// What a shard holds of a range.
pub(crate) const SURVEY: u8 = 7;
/// A request to a range's leader, which another shard passes on.
pub(crate) const RELAY: u8 = 8;

/// Bytes that are none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed bytes from another shard")]
pub(crate) struct Malformed;

impl From<dunlin_txn::Malformed> for Malformed {
    fn from(_: dunlin_txn::Malformed) -> Malformed {
        Malformed
    }
}

/// A request to the leader of a range, which may take so long.
pub(crate) fn encode(range: u64, within: Duration, request: &Request) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(ASK);
    out.put_u64_le(range);
    put_within(&mut out, within);
    request.encode(&mut out);
    out.freeze()
}

/// The same back, without its kind.
pub(crate) fn decode(mut from: Bytes) -> Result<(u64, Duration, Request), Malformed> {
    let range = from.try_get_u64_le().map_err(|_| Malformed)?;
    let within = within(&mut from)?;
    Ok((range, within, Request::decode(from)?))
}

/// A request of [`encode`] to a shard that cannot be reached from here, which may take so long.
pub(crate) fn encode_relay(to: ShardAddress, within: Duration, request: &Bytes) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(RELAY);
    to.encode(&mut out);
    put_within(&mut out, within);
    out.extend_from_slice(request);
    out.freeze()
}

/// The same back, without its kind. A request is passed on once at most.
pub(crate) fn decode_relay(mut from: Bytes) -> Result<(ShardAddress, Duration, Bytes), Malformed> {
    let to = ShardAddress::decode(&mut from).map_err(|_| Malformed)?;
    let within = within(&mut from)?;
    if !matches!(from.first(), Some(&ASK | &STEP)) {
        return Err(Malformed);
    }
    Ok((to, within, from))
}

/// How much time is left for a request.
pub(crate) fn put_within(out: &mut BytesMut, within: Duration) {
    let ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
    out.put_u32_le(ms);
}

/// The same back.
pub(crate) fn within(from: &mut Bytes) -> Result<Duration, Malformed> {
    let ms = from.try_get_u32_le().map_err(|_| Malformed)?;
    Ok(Duration::from_millis(ms.into()))
}
