//! The preamble of a connection, on either side: who shares a secret (`dunlin-secret`), before a
//! hello is read.
use crate::error::AcceptError;
use crate::hello;
use dunlin_secret::{
    Guard, Mode, Opener, Outcome, PROOF_BYTES, Refusal, STEP_BYTES, Serves, challenge, serves,
};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Of a hello that is refused unread, at most so much is taken off the stream, so that the refusal
/// is not lost with a reset. Every hello of a node is shorter.
const UNREAD_BYTES_MAX: usize = 512;

/// Proves the secret to whoever accepts, and has it prove the same.
pub(crate) async fn prove<S>(stream: &mut S, guard: &Guard) -> Result<(), AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let refused = |refusal| AcceptError::Secret(guard.door(), refusal);
    let nonce = guard.nonce().map_err(io::Error::other)?;
    let (opener, request) = Opener::begin(guard.door(), guard.secrets(), nonce);
    send(stream, &request).await?;
    let challenge = receive::<STEP_BYTES>(stream).await?;
    let (waiting, proof) = opener.prove(&challenge).map_err(refused)?;
    send(stream, &proof).await?;
    let verdict = receive::<STEP_BYTES>(stream).await?;
    waiting.accepted(&verdict).map_err(refused)
}

/// Reads what a connection opens with, up to the first eight bytes of a hello, which are the answer.
/// Nothing behind them is read before whoever opened it has proven what there is to be proven.
pub(crate) async fn admit<S>(
    stream: &mut S,
    guard: &Guard,
) -> Result<[u8; hello::HEAD_BYTES], AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let head = receive::<{ hello::HEAD_BYTES }>(stream).await?;
    let [m0, m1, m2, m3, ..] = head;
    let proof = match serves(guard.mode(), [m0, m1, m2, m3]) {
        Serves::Plainly => {
            guard.counts.count(Outcome::Plain);
            return Ok(head);
        }
        Serves::Asking => {
            if !hello::is_one(head) {
                return Err(AcceptError::NotDunlin(
                    "neither a proof of the secret nor a hello",
                ));
            }
            let [.., l0, l1] = head;
            let length = usize::from(u16::from_le_bytes([l0, l1])) + hello::CHECKSUM_BYTES;
            let mut unread = [0; UNREAD_BYTES_MAX];
            let unread = &mut unread[..length.min(UNREAD_BYTES_MAX)];
            stream.read_exact(unread).await?;
            hello::answer(stream, hello::Status::SecretAsked, b"").await?;
            return Err(AcceptError::Secret(guard.door(), Refusal::Unproven));
        }
        Serves::Challenging | Serves::WithoutSecret => check(stream, guard, head),
    };
    proof.await?;
    guard.counts.count(Outcome::Proven);
    Ok(receive(stream).await?)
}

/// Takes a proof; `head` is what its request begins with.
async fn check<S>(
    stream: &mut S,
    guard: &Guard,
    head: [u8; hello::HEAD_BYTES],
) -> Result<(), AcceptError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let refused = |refusal| AcceptError::Secret(guard.door(), refusal);
    let mut request = [0; STEP_BYTES];
    request[..head.len()].copy_from_slice(&head);
    stream.read_exact(&mut request[head.len()..]).await?;
    let nonce = guard.nonce().map_err(io::Error::other)?;
    let secrets = (guard.mode() != Mode::Off).then(|| guard.secrets());
    let (answer, challenged) = challenge(guard.door(), secrets, &request, nonce);
    send(stream, &answer).await?;
    let challenged = challenged.map_err(refused)?;
    let proof = receive::<PROOF_BYTES>(stream).await?;
    let judged = challenged.judge(&proof);
    send(stream, &judged.verdict).await?;
    if judged.is_proven {
        Ok(())
    } else {
        Err(refused(Refusal::WrongHere))
    }
}

async fn send<S>(stream: &mut S, bytes: &[u8]) -> io::Result<()>
where
    S: AsyncWrite + Unpin + ?Sized,
{
    stream.write_all(bytes).await?;
    stream.flush().await
}

async fn receive<const N: usize>(
    stream: &mut (impl AsyncRead + Unpin + ?Sized),
) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
