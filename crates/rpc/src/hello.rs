//! The bytes that open a connection, and the answer to them.
use crate::error::AcceptError;
use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The version of the protocol that this crate speaks.
pub(crate) const PROTOCOL: u16 = 1;
const MAGIC: &[u8; 4] = b"DNLN";
const HEAD_BYTES: usize = 8;
const ANSWER_BYTES: usize = 12;

/// What the side that accepts says to a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Accepted = 0,
    ProtocolUnknown = 1,
    NotServed = 2,
}

/// Sends `hello` (at most 65,535 bytes) and waits for the answer.
pub(crate) async fn open<S>(stream: &mut S, hello: &[u8]) -> Result<(), AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let length = u16::try_from(hello.len())
        .map_err(|_| AcceptError::NotDunlin("hello over 65,535 bytes"))?;
    let mut out = BytesMut::with_capacity(HEAD_BYTES + hello.len() + 4);
    out.put_slice(MAGIC);
    out.put_u16_le(PROTOCOL);
    out.put_u16_le(length);
    out.put_slice(hello);
    let checksum = crc32c::crc32c(&out);
    out.put_u32_le(checksum);
    stream.write_all(&out).await?;
    stream.flush().await?;

    let mut answer = [0; ANSWER_BYTES];
    stream.read_exact(&mut answer).await?;
    let [m0, m1, m2, m3, p0, p1, s0, s1, c0, c1, c2, c3] = answer;
    if [m0, m1, m2, m3] != *MAGIC {
        return Err(AcceptError::NotDunlin("answer has another magic"));
    }
    if crc32c::crc32c(&answer[..HEAD_BYTES]) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(AcceptError::NotDunlin("answer is damaged"));
    }
    match u16::from_le_bytes([s0, s1]) {
        0 => Ok(()),
        1 => Err(AcceptError::Protocol(u16::from_le_bytes([p0, p1]))),
        2 => Err(AcceptError::NotServed),
        _ => Err(AcceptError::NotDunlin("answer has an unknown status")),
    }
}

/// Reads a hello and not one byte more, so that the stream can move to another thread after it.
/// A peer of another protocol version is told so.
pub(crate) async fn read<S>(stream: &mut S) -> Result<Bytes, AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head).await?;
    let [m0, m1, m2, m3, p0, p1, l0, l1] = head;
    if [m0, m1, m2, m3] != *MAGIC {
        return Err(AcceptError::NotDunlin("hello has another magic"));
    }
    let protocol = u16::from_le_bytes([p0, p1]);
    if protocol != PROTOCOL {
        answer(stream, Status::ProtocolUnknown).await?;
        return Err(AcceptError::Protocol(protocol));
    }
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    let mut rest = BytesMut::zeroed(length + 4);
    stream.read_exact(&mut rest).await?;
    let checksum = rest.split_off(length);
    let expected = crc32c::crc32c_append(crc32c::crc32c(&head), &rest);
    if checksum[..] != expected.to_le_bytes() {
        return Err(AcceptError::NotDunlin("hello is damaged"));
    }
    Ok(rest.freeze())
}

/// Answers a hello.
pub(crate) async fn answer<S>(stream: &mut S, status: Status) -> Result<(), AcceptError>
where
    S: AsyncWrite + Unpin + ?Sized,
{
    let mut out = BytesMut::with_capacity(ANSWER_BYTES);
    out.put_slice(MAGIC);
    out.put_u16_le(PROTOCOL);
    out.put_u16_le(status as u16);
    let checksum = crc32c::crc32c(&out);
    out.put_u32_le(checksum);
    stream.write_all(&out).await?;
    stream.flush().await?;
    Ok(())
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;
