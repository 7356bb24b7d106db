//! Any bytes where a secret is to be proven: the reader ends with them, sends a few bytes, and no
//! hello comes through; an opener believes no acceptor.
#![no_main]

use dunlin_fuzz::{
    input::Input,
    memory::{PLAIN_BYTES, limited},
    reopen::simulate,
};
use dunlin_rpc::{Plain, accept};
use dunlin_secret::{Door, Guard, Mode, NoRandomness, Nonce, Nonces, Opener, STEP_BYTES, Secrets};
use libfuzzer_sys::fuzz_target;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let chunk = 1 + usize::from(input.u8());
    let sent = Arc::new(AtomicUsize::new(0));
    let bytes = input.rest().to_vec();
    let Ok(secrets) = Secrets::parse(b"a secret that no input knows") else {
        panic!("the secret is refused");
    };
    let guard = Guard::new(Door::Peer, Mode::Required, secrets, Box::new(Same));
    if let Some((challenge, rest)) = bytes.split_first_chunk::<STEP_BYTES>() {
        let (opener, _) = Opener::begin(Door::Peer, guard.secrets(), [5; 32]);
        if let Ok((waiting, _)) = opener.prove(challenge)
            && let Some(verdict) = rest.first_chunk::<STEP_BYTES>()
        {
            assert!(waiting.accepted(verdict).is_err());
        }
    }
    limited(PLAIN_BYTES, || {
        let mut stream = Plain(Peer {
            bytes,
            at: 0,
            chunk,
            sent: sent.clone(),
        });
        let limit = Duration::from_secs(5);
        let read = simulate(async { accept::read_hello(&mut stream, limit, &guard).await.is_ok() });
        assert!(!read, "a hello came through");
    });
    assert!(sent.load(Relaxed) <= 80);
});

/// Not even the same nonce twice helps who does not know the secret.
struct Same;

impl Nonces for Same {
    fn nonce(&self) -> Result<Nonce, NoRandomness> {
        Ok([9; 32])
    }
}

/// A peer that sends its bytes and hangs up, and takes whatever it is sent.
struct Peer {
    bytes: Vec<u8>,
    at: usize,
    chunk: usize,
    sent: Arc<AtomicUsize>,
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
        self.sent.fetch_add(bytes.len(), Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
