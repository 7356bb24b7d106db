//! What a door is guarded by.
use crate::counts::Counts;
use crate::decide::Mode;
use crate::nonces::{NoRandomness, Nonce, Nonces, SystemNonces};
use crate::preamble::Door;
use crate::secrets::Secrets;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Mode, secrets and nonces of one door, in both directions, shared by all who use it.
pub struct Guard {
    door: Door,
    mode: Mode,
    secrets: RwLock<Arc<Secrets>>,
    nonces: Box<dyn Nonces>,
    /// How openings from outside went.
    pub counts: Counts,
}

impl Guard {
    /// One that lets everybody in and proves nothing.
    pub fn off(door: Door) -> Arc<Guard> {
        Guard::new(
            door,
            Mode::Off,
            Secrets::none(),
            Box::<SystemNonces>::default(),
        )
    }

    /// One that knows secrets.
    pub fn new(door: Door, mode: Mode, secrets: Secrets, nonces: Box<dyn Nonces>) -> Arc<Guard> {
        Arc::new(Guard {
            door,
            mode,
            secrets: RwLock::new(Arc::new(secrets)),
            nonces,
            counts: Counts::default(),
        })
    }

    /// Which door.
    pub fn door(&self) -> Door {
        self.door
    }

    /// How much it insists.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The secrets of this moment.
    pub fn secrets(&self) -> Arc<Secrets> {
        let secrets = self.secrets.read();
        secrets.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Others from now on. Connections that stand stay.
    pub fn replace(&self, secrets: Secrets) {
        let mut held = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(secrets);
    }

    /// A new nonce.
    ///
    /// # Errors
    /// When there is no randomness to be had.
    pub fn nonce(&self) -> Result<Nonce, NoRandomness> {
        self.nonces.nonce()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Guard({:?}, {}, {:?})",
            self.door,
            self.mode,
            self.secrets()
        )
    }
}
