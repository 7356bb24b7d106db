//! Any bytes on a connection between shards: the answering side ends with the connection, in
//! bounded memory, and answers what an independent reading of the bytes says it was asked.
#![no_main]

use bytes::Bytes;
use dunlin_fuzz::{
    input::Input,
    memory::{PLAIN_BYTES, limited},
    reopen::simulate,
};
use dunlin_rpc::{Limits, Plain, Reply, serve_stream};
use libfuzzer_sys::fuzz_target;
use std::{
    cell::Cell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const FRAME_BYTES_MAX: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let sealed = input.u8() & 1 == 1;
    let chunk = 1 + usize::from(input.u8());
    let mut bytes = input.rest().to_vec();
    if sealed {
        seal(&mut bytes);
    }
    let wanted = requests(&bytes);
    let served = Rc::new(Cell::new(0));
    let count = served.clone();
    let service = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
        count.set(count.get() + 1);
        reply.send(request);
    });
    let limits = Limits {
        frame_bytes_max: FRAME_BYTES_MAX,
        ..Limits::default()
    };
    limited(PLAIN_BYTES, || {
        let stream = Box::new(Plain(Peer {
            bytes,
            at: 0,
            chunk,
        }));
        simulate(serve_stream::<Bytes, Bytes>(
            stream,
            service,
            |_| true,
            limits,
        ))
    });
    if let Some(wanted) = wanted {
        assert_eq!(served.get(), wanted);
    }
});

/// A peer that sends its bytes and hangs up, and takes whatever it is sent.
struct Peer {
    bytes: Vec<u8>,
    at: usize,
    chunk: usize,
}

impl AsyncRead for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let end = self
            .bytes
            .len()
            .min(self.at + self.chunk.min(buffer.remaining()));
        buffer.put_slice(&self.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Peer {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Where the hello ends, its checksum included.
fn hello_end(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(6..)?.first_chunk()?;
    Some(8 + usize::from(u16::from_le_bytes(*length)) + 4).filter(|end| *end <= bytes.len())
}

/// The frame that begins at an offset: where what its checksum covers begins and ends.
fn frame(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let length = u32_at(bytes, at)? as usize;
    let (begin, end) = (at + 8, at + 8 + length);
    ((9..=FRAME_BYTES_MAX).contains(&length) && end <= bytes.len()).then_some((begin, end))
}

/// Puts the checksums of hello and frames right.
fn seal(bytes: &mut [u8]) {
    let Some(mut at) = hello_end(bytes) else {
        return;
    };
    let checksum = crc32c::crc32c(&bytes[..at - 4]);
    bytes[at - 4..at].copy_from_slice(&checksum.to_le_bytes());
    while let Some((begin, end)) = frame(bytes, at) {
        let checksum = crc32c::crc32c(&bytes[begin..end]);
        bytes[at + 4..begin].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
}

/// How many requests precede the first thing that is wrong; `None` where that depends on when what was
/// read is handled.
fn requests(bytes: &[u8]) -> Option<u32> {
    let mut requests = 0;
    let Some(mut at) = hello_end(bytes) else {
        return Some(0);
    };
    let greets = bytes.starts_with(b"DNLN\x07\0");
    if !greets || Some(crc32c::crc32c(&bytes[..at - 4])) != u32_at(bytes, at - 4) {
        return Some(0);
    }
    let mut latest_stream = 0;
    while let Some((begin, end)) = frame(bytes, at) {
        if Some(crc32c::crc32c(&bytes[begin..end])) != u32_at(bytes, at + 4) {
            break;
        }
        let number = bytes[begin + 1..]
            .first_chunk()
            .map_or(0, |n| u64::from_le_bytes(*n));
        let first_u32 = u32_at(&bytes[..end], begin + 9);
        match (bytes[begin], first_u32) {
            // Where no time is left it is not handled.
            (0, Some(left_ms)) => requests += u32::from(left_ms != 0),
            // A request without an answer is left out here.
            (3..=6, _) => {}
            // Refused: nothing here answers with a stream.
            (7, Some(credit)) if number > latest_stream && credit <= 1 << 30 => {
                latest_stream = number;
            }
            // Too much of it is wrong as long as the refusal has not gone.
            (9, Some(_)) if number <= latest_stream => return None,
            (11, _) if number <= latest_stream => {}
            _ => break,
        }
        at = end;
    }
    Some(requests)
}
