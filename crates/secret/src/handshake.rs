//! Both sides of the preamble, step by step, without I/O.
//!
//! The opener proves first: whoever merely connects gets nothing that depends on the secret.
use crate::nonces::Nonce;
use crate::preamble::{Door, PROOF_BYTES, STEP_BYTES, Status, Step, VERSION};
use crate::proof::{Opening, Role};
use crate::refusal::Refusal;
use crate::secrets::Secrets;
use ring::hmac;
use std::sync::Arc;

/// An opener that has sent its request.
pub struct Opener {
    door: Door,
    nonce: Nonce,
    secrets: Arc<Secrets>,
}

/// An opener that has sent its proof.
pub struct Waiting {
    opening: Opening,
    key: hmac::Key,
}

impl Opener {
    /// Begins: the request is sent.
    pub fn begin(door: Door, secrets: Arc<Secrets>, nonce: Nonce) -> (Opener, [u8; STEP_BYTES]) {
        let request = Step::request(door, nonce).encode();
        let opener = Opener {
            door,
            nonce,
            secrets,
        };
        (opener, request)
    }

    /// Reads the challenge; the proof is sent.
    ///
    /// # Errors
    /// Why there is nothing to prove.
    pub fn prove(
        self,
        challenge: &[u8; STEP_BYTES],
    ) -> Result<(Waiting, [u8; PROOF_BYTES]), Refusal> {
        let step = Step::decode(challenge).ok_or(Refusal::Strange)?;
        match step.status() {
            Some(Status::Fine) if step.version == VERSION => {}
            Some(Status::VersionUnknown) => return Err(Refusal::Version(step.version)),
            Some(Status::NoSecret) => return Err(Refusal::NoSecret),
            Some(Status::OtherDoor) => return Err(Refusal::OtherDoor),
            _ => return Err(Refusal::Strange),
        }
        let key = self.secrets.first().ok_or(Refusal::Asked)?.clone();
        let opening = Opening {
            door: self.door,
            opener: self.nonce,
            acceptor: step.rest,
        };
        let proof = opening.prove(&key, Role::Opener);
        Ok((Waiting { opening, key }, proof))
    }
}

impl Waiting {
    /// Reads the verdict. When it is good both know that the other knows the secret.
    ///
    /// # Errors
    /// Why not.
    pub fn accepted(self, verdict: &[u8; STEP_BYTES]) -> Result<(), Refusal> {
        let step = Step::decode(verdict).ok_or(Refusal::Strange)?;
        match step.status() {
            Some(Status::Fine)
                if self
                    .opening
                    .is_proven(&self.key, Role::Acceptor, &step.rest) =>
            {
                Ok(())
            }
            Some(Status::Fine) => Err(Refusal::Impostor),
            Some(Status::Wrong) => Err(Refusal::Wrong),
            _ => Err(Refusal::Strange),
        }
    }
}

/// An acceptor that has sent its challenge.
pub struct Challenged {
    opening: Opening,
    secrets: Arc<Secrets>,
}

/// What an acceptor makes of a proof, and the verdict to be sent.
pub struct Judged {
    /// Whether anything may follow.
    pub is_proven: bool,
    /// The last step.
    pub verdict: [u8; STEP_BYTES],
}

/// Reads a request. The bytes are sent, and nothing more when there is no [`Challenged`] beside them.
/// `secrets`: none where this side has no secret.
pub fn challenge(
    door: Door,
    secrets: Option<Arc<Secrets>>,
    request: &[u8; STEP_BYTES],
    nonce: Nonce,
) -> ([u8; STEP_BYTES], Result<Challenged, Refusal>) {
    let refuse = |status, refusal| (Step::answer(status, [0; 32]).encode(), Err(refusal));
    let Some(step) = Step::decode(request) else {
        return refuse(Status::OtherDoor, Refusal::Strange);
    };
    if step.version != VERSION {
        return refuse(Status::VersionUnknown, Refusal::Version(step.version));
    }
    if step.door() != Some(door) {
        return refuse(Status::OtherDoor, Refusal::OtherDoor);
    }
    let Some(secrets) = secrets else {
        return refuse(Status::NoSecret, Refusal::NoSecretHere);
    };
    let opening = Opening {
        door,
        opener: step.rest,
        acceptor: nonce,
    };
    let challenge = Step::answer(Status::Fine, nonce).encode();
    (challenge, Ok(Challenged { opening, secrets }))
}

impl Challenged {
    /// Judges the opener's proof, and proves by the same secret, which the opener knows.
    pub fn judge(self, proof: &[u8; PROOF_BYTES]) -> Judged {
        let known = |key: &&hmac::Key| self.opening.is_proven(key, Role::Opener, proof);
        match self.secrets.all().iter().find(known) {
            Some(key) => {
                let own = self.opening.prove(key, Role::Acceptor);
                Judged {
                    is_proven: true,
                    verdict: Step::answer(Status::Fine, own).encode(),
                }
            }
            None => Judged {
                is_proven: false,
                verdict: Step::answer(Status::Wrong, [0; 32]).encode(),
            },
        }
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
