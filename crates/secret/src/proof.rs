//! What a proof signs: version, door, who proves, and the nonces of both.
use crate::nonces::Nonce;
use crate::preamble::{Door, PROOF_BYTES, VERSION};
use ring::hmac;

/// Sets these signatures apart from all others that anyone makes with the same secret.
const LABEL: &[u8; 16] = b"dunlin preamble\0";

/// Who proves. What one side has said is of no use as the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Opener = 1,
    Acceptor = 2,
}

/// One opening of a door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub door: Door,
    pub opener: Nonce,
    pub acceptor: Nonce,
}

impl Opening {
    /// Every field has a fixed size, so no two openings are the same bytes.
    fn signed(&self, role: Role) -> Vec<u8> {
        let mut out = Vec::with_capacity(LABEL.len() + 5 + 2 * self.opener.len());
        out.extend_from_slice(LABEL);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.door as u16).to_le_bytes());
        out.push(role as u8);
        out.extend_from_slice(&self.opener);
        out.extend_from_slice(&self.acceptor);
        out
    }

    /// The proof that `role` knows the secret.
    pub fn prove(&self, key: &hmac::Key, role: Role) -> [u8; PROOF_BYTES] {
        let tag = hmac::sign(key, &self.signed(role));
        let mut proof = [0; PROOF_BYTES];
        proof.copy_from_slice(tag.as_ref());
        proof
    }

    /// Whether it is. Takes as long for a proof that is nearly right as for any other.
    pub fn is_proven(&self, key: &hmac::Key, role: Role, proof: &[u8; PROOF_BYTES]) -> bool {
        hmac::verify(key, &self.signed(role), proof).is_ok()
    }
}
