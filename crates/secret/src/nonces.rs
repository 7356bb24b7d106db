//! Where nonces come from. A simulation brings its own.
use crate::preamble::NONCE_BYTES;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes that nobody can foretell.
pub type Nonce = [u8; NONCE_BYTES];

/// The system gives no randomness. Nothing is opened without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

/// Makes nonces, no two alike.
pub trait Nonces: Send + Sync {
    /// The next.
    ///
    /// # Errors
    /// When there is no randomness to be had.
    fn nonce(&self) -> Result<Nonce, NoRandomness>;
}

/// The operating system's randomness.
#[derive(Debug, Clone)]
pub struct SystemNonces(SystemRandom);

impl Default for SystemNonces {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one source of real nonces"
    )]
    fn default() -> Self {
        Self(SystemRandom::new())
    }
}

impl Nonces for SystemNonces {
    fn nonce(&self) -> Result<Nonce, NoRandomness> {
        let mut nonce = [0; NONCE_BYTES];
        self.0.fill(&mut nonce).map_err(|_| NoRandomness)?;
        Ok(nonce)
    }
}
