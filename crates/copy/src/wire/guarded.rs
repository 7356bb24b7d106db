//! The preamble of a connection, on either side: who shares a secret, before a hello is read.

use std::io::{self, Read, Write};

use dunlin_secret::{
    Door, Guard, MAGIC, Mode, Opener, PROOF_BYTES, Refusal, STEP_BYTES, Serves, challenge, serves,
};

use super::hello;

/// Why a preamble did not end well.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The connection broke.
    Io(io::Error),
    /// The two do not share a secret.
    Refused(Refusal),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

/// Proves the secret, if there is one, to whoever accepts, and has it prove the same.
pub(crate) fn prove<S: Read + Write>(stream: &mut S, guard: &Guard) -> Result<(), Failed> {
    if guard.mode() == Mode::Off {
        return Ok(());
    }
    let nonce = guard.nonce().map_err(io::Error::other)?;
    let (opener, request) = Opener::begin(Door::Copy, guard.secrets(), nonce);
    stream.write_all(&request)?;
    let mut step = [0; STEP_BYTES];
    stream.read_exact(&mut step)?;
    let (waiting, proof) = opener.prove(&step).map_err(Failed::Refused)?;
    stream.write_all(&proof)?;
    stream.read_exact(&mut step)?;
    waiting.accepted(&step).map_err(Failed::Refused)
}

/// Reads what a connection opens with, up to its hello, which is the answer. Nothing behind it is read
/// before whoever opened the connection has proven what there is to be proven.
pub(crate) fn admit<S: Read + Write>(
    stream: &mut S,
    guard: &Guard,
) -> Result<[u8; hello::HELLO_BYTES], Failed> {
    let mut first = [0; hello::HELLO_BYTES];
    stream.read_exact(&mut first)?;
    let [m0, m1, m2, m3, ..] = first;
    match serves(guard.mode(), [m0, m1, m2, m3]) {
        Serves::Plainly => return Ok(first),
        Serves::Asking => {
            if first.starts_with(hello::MAGIC) {
                stream.write_all(&hello::encode(hello::SECRET_ASKED))?;
            }
            return Err(Failed::Refused(Refusal::Unproven));
        }
        Serves::Challenging | Serves::WithoutSecret => {}
    }
    debug_assert_eq!([m0, m1, m2, m3], MAGIC);
    let mut request = [0; STEP_BYTES];
    request[..first.len()].copy_from_slice(&first);
    stream.read_exact(&mut request[first.len()..])?;
    let nonce = guard.nonce().map_err(io::Error::other)?;
    let secrets = (guard.mode() != Mode::Off).then(|| guard.secrets());
    let (answer, challenged) = challenge(Door::Copy, secrets, &request, nonce);
    stream.write_all(&answer)?;
    let challenged = challenged.map_err(Failed::Refused)?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    let judged = challenged.judge(&proof);
    stream.write_all(&judged.verdict)?;
    if !judged.is_proven {
        return Err(Failed::Refused(Refusal::WrongHere));
    }
    stream.read_exact(&mut first)?;
    Ok(first)
}

#[cfg(test)]
#[path = "guarded_tests.rs"]
mod tests;
