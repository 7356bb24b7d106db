//! Who shares a secret: the bytes that prove it before anything else on a connection is parsed.
//!
//! ```text
//!  opener                                     acceptor
//!    request: version, door, its nonce  ---->
//!                                       <----  challenge: its nonce, or why there is none
//!    proof                              ---->
//!                                       <----  verdict: its own proof, or that the opener's is wrong
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `secrets` | the lines of a secret file as keys; `Debug` shows none of them |
//! | `file` | reading that file, and when it is to be read again |
//! | `preamble` | the bytes, `docs/formats.md` section 12 |
//! | `proof` | what is signed, and by whom |
//! | `handshake` | either side, step by step, without I/O |
//! | `decide` | what follows from the mode and from what the other side does (pure) |
//! | `refusal` | why two do not trust each other, in one line that says what to do |
//! | `guard` | what a door is guarded by: mode, secrets, nonces, counts |
//! | `counts` | how openings went |
//! | `strangers` | those that went badly: which to tell of, and how often (pure) |
//! | `nonces` | where randomness comes from: the trait, and the real one |
//!
//! Decision 32 says what it keeps out and what it does not.
#![deny(unsafe_code)]

mod counts;
mod decide;
mod file;
mod guard;
mod handshake;
mod nonces;
mod preamble;
mod proof;
mod refusal;
mod secrets;
mod strangers;

pub use counts::{Counts, Outcome};
pub use decide::{Mode, Opens, Serves, UnknownMode, falls_back, opens, serves};
pub use file::{Read, SecretFile};
pub use guard::Guard;
pub use handshake::{Challenged, Judged, Opener, Waiting, challenge};
pub use nonces::{NoRandomness, Nonce, Nonces, SystemNonces};
pub use preamble::{Door, MAGIC, NONCE_BYTES, PROOF_BYTES, STEP_BYTES, VERSION};
pub use refusal::Refusal;
pub use secrets::{SECRET_BYTES_MIN, SECRETS_MAX, SecretError, Secrets};
pub use strangers::Strangers;
