//! The bytes that open a connection, and the answer to them.
use crate::error::AcceptError;
use bytes::{BufMut, Bytes, BytesMut};
use dunlin_secret::{Door, Refusal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The version of the protocol between nodes: any other is refused.
pub const PROTOCOL: u16 = 7;
const MAGIC: &[u8; 4] = b"DNLN";
pub(crate) const HEAD_BYTES: usize = 8;
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// What opened a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// What it says, for those who serve.
    pub body: Bytes,
}

/// What the side that accepts says to a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Calls may follow.
    Accepted = 0,
    /// The peer speaks the version that stands beside it.
    ProtocolUnknown = 1,
    /// What the hello names is not served here.
    NotServed = 2,
    /// Whoever asks has been replaced by another: it is to end.
    Superseded = 3,
    /// Whoever asks is to prove that it knows the secret, before it says hello.
    SecretAsked = 4,
}

/// Sends `hello` (at most 65,535 bytes) and waits for the answer; gives what it says.
pub(crate) async fn open<S>(stream: &mut S, hello: &[u8]) -> Result<Bytes, AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let length = u16::try_from(hello.len())
        .map_err(|_| AcceptError::NotDunlin("hello over 65,535 bytes"))?;
    let mut out = BytesMut::with_capacity(HEAD_BYTES + hello.len() + CHECKSUM_BYTES);
    out.put_slice(MAGIC);
    out.put_u16_le(PROTOCOL);
    out.put_u16_le(length);
    out.put_slice(hello);
    let checksum = crc32c::crc32c(&out);
    out.put_u32_le(checksum);
    stream.write_all(&out).await?;
    stream.flush().await?;

    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head).await?;
    let [m0, m1, m2, m3, p0, p1, s0, s1] = head;
    if [m0, m1, m2, m3] != *MAGIC {
        return Err(AcceptError::NotDunlin("answer has another magic"));
    }
    let theirs = u16::from_le_bytes([p0, p1]);
    if theirs != PROTOCOL {
        return Err(AcceptError::Protocol(theirs));
    }
    let mut length = [0; 2];
    stream.read_exact(&mut length).await?;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&head), &length);
    let length = usize::from(u16::from_le_bytes(length));
    let body = read_checked(stream, length, checksum)
        .await?
        .ok_or(AcceptError::NotDunlin("answer is damaged"))?;
    match u16::from_le_bytes([s0, s1]) {
        0 => Ok(body),
        1 => Err(AcceptError::Protocol(theirs)),
        2 => Err(AcceptError::NotServed),
        3 => Err(AcceptError::Superseded(body)),
        4 => Err(AcceptError::Secret(Door::Peer, Refusal::Asked)),
        _ => Err(AcceptError::NotDunlin("answer has an unknown status")),
    }
}

/// Reads a hello and not one byte more, so that the stream can move to another thread after it.
/// A peer of another protocol version is told so.
pub(crate) async fn read<S>(stream: &mut S) -> Result<Hello, AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head).await?;
    read_rest(stream, head).await
}

/// The same where `head` has been read.
pub(crate) async fn read_rest<S>(
    stream: &mut S,
    head: [u8; HEAD_BYTES],
) -> Result<Hello, AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let [m0, m1, m2, m3, p0, p1, l0, l1] = head;
    if [m0, m1, m2, m3] != *MAGIC {
        return Err(AcceptError::NotDunlin("hello has another magic"));
    }
    let protocol = u16::from_le_bytes([p0, p1]);
    if protocol != PROTOCOL {
        answer(stream, Status::ProtocolUnknown, b"").await?;
        return Err(AcceptError::Protocol(protocol));
    }
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    let body = read_checked(stream, length, crc32c::crc32c(&head))
        .await?
        .ok_or(AcceptError::NotDunlin("hello is damaged"))?;
    Ok(Hello { body })
}

/// Reads `length` bytes and the checksum of all: `checksum`, that of what came before, continued.
/// `None` when it is another.
async fn read_checked<S>(
    stream: &mut S,
    length: usize,
    checksum: u32,
) -> Result<Option<Bytes>, AcceptError>
where
    S: AsyncRead + Unpin + ?Sized,
{
    let mut rest = BytesMut::zeroed(length + CHECKSUM_BYTES);
    stream.read_exact(&mut rest).await?;
    let told = rest.split_off(length);
    let expected = crc32c::crc32c_append(checksum, &rest);
    Ok((told[..] == expected.to_le_bytes()).then(|| rest.freeze()))
}

/// Whether these are the first bytes of a hello.
pub(crate) fn is_one(head: [u8; HEAD_BYTES]) -> bool {
    head.starts_with(MAGIC)
}

/// Answers a hello with `body` (at most 65,535 bytes).
pub(crate) async fn answer<S>(
    stream: &mut S,
    status: Status,
    body: &[u8],
) -> Result<(), AcceptError>
where
    S: AsyncWrite + Unpin + ?Sized,
{
    let length = u16::try_from(body.len())
        .map_err(|_| AcceptError::NotDunlin("answer over 65,535 bytes"))?;
    let mut out = BytesMut::with_capacity(HEAD_BYTES + 2 + body.len() + CHECKSUM_BYTES);
    out.put_slice(MAGIC);
    out.put_u16_le(PROTOCOL);
    out.put_u16_le(status as u16);
    out.put_u16_le(length);
    out.put_slice(body);
    let checksum = crc32c::crc32c(&out);
    out.put_u32_le(checksum);
    stream.write_all(&out).await?;
    stream.flush().await?;
    Ok(())
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;
