//! The bytes of the preamble: four steps of fixed size, `docs/formats.md` section 12.
use crate::nonces::Nonce;

/// What a preamble begins with, and no hello does.
pub const MAGIC: [u8; 4] = *b"DNSC";
/// The version that this crate speaks.
pub const VERSION: u16 = 1;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 32;
/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;
/// Bytes of a request, a challenge and a verdict: magic, version, one word, and 32 more.
pub const STEP_BYTES: usize = 40;

/// What is opened. A proof for one door opens no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The port between nodes.
    Peer = 1,
    /// `dunlin receive`.
    Copy = 2,
}

impl Door {
    fn from_word(word: u16) -> Option<Door> {
        Some(match word {
            1 => Door::Peer,
            2 => Door::Copy,
            _ => return None,
        })
    }
}

/// What stands in a challenge and in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Go on.
    Fine = 0,
    /// This version is not known; the latest that is stands beside it.
    VersionUnknown = 1,
    /// No secret is known here.
    NoSecret = 2,
    /// This is another door.
    OtherDoor = 3,
    /// The proof is wrong.
    Wrong = 4,
}

impl Status {
    fn from_word(word: u16) -> Option<Status> {
        Some(match word {
            0 => Status::Fine,
            1 => Status::VersionUnknown,
            2 => Status::NoSecret,
            3 => Status::OtherDoor,
            4 => Status::Wrong,
            _ => return None,
        })
    }
}

/// One step: `magic u8[4] | version u16 | word u16 | u8[32]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub version: u16,
    pub word: u16,
    pub rest: [u8; 32],
}

impl Step {
    pub fn request(door: Door, nonce: Nonce) -> Step {
        Step {
            version: VERSION,
            word: door as u16,
            rest: nonce,
        }
    }

    pub fn answer(status: Status, rest: [u8; 32]) -> Step {
        Step {
            version: VERSION,
            word: status as u16,
            rest,
        }
    }

    pub fn door(&self) -> Option<Door> {
        Door::from_word(self.word)
    }

    pub fn status(&self) -> Option<Status> {
        Status::from_word(self.word)
    }

    pub fn encode(&self) -> [u8; STEP_BYTES] {
        let mut out = [0; STEP_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&self.version.to_le_bytes());
        out[6..8].copy_from_slice(&self.word.to_le_bytes());
        out[8..].copy_from_slice(&self.rest);
        out
    }

    /// `None` when they begin with another magic.
    pub fn decode(bytes: &[u8; STEP_BYTES]) -> Option<Step> {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let [m0, m1, m2, m3, v0, v1, w0, w1] = *head;
        ([m0, m1, m2, m3] == MAGIC).then_some(Step {
            version: u16::from_le_bytes([v0, v1]),
            word: u16::from_le_bytes([w0, w1]),
            rest: rest.try_into().ok()?,
        })
    }
}
