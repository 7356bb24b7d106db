//! Hellos and frames by hand, for peers that are not ours.
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// One frame: its kind, its call or stream, and its body; `None` when there is no more.
pub async fn frame(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u64, Bytes)> {
    let length = stream.read_u32_le().await.ok()? as usize;
    let _checksum = stream.read_u32_le().await.ok()?;
    let mut body = BytesMut::zeroed(length);
    stream.read_exact(&mut body).await.ok()?;
    let mut body = body.freeze();
    Some((body.get_u8(), body.get_u64_le(), body))
}

/// A frame with its length and checksum.
pub fn encoded(kind: u8, call: u64, body: &[u8]) -> Vec<u8> {
    let mut covered = vec![kind];
    covered.extend(call.to_le_bytes());
    covered.extend(body);
    let mut out = (covered.len() as u32).to_le_bytes().to_vec();
    out.extend(crc32c::crc32c(&covered).to_le_bytes());
    out.extend(covered);
    out
}

/// What a hello is with its checksum behind it.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.extend(crc32c::crc32c(bytes).to_le_bytes());
    out
}
