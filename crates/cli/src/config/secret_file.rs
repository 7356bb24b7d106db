//! Secret files: from their settings to the guard of a port.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use dunlin_secret::{Door, Guard, Mode, Read, SecretFile, SystemNonces};
use serde::{Deserialize, Serialize};

use crate::config::open_doors::LetsIn;
use crate::config::word;
use crate::failure::Failure;

/// How often the file is looked at.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The settings: flags, and the table `[peer_secret]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerSecret {
    /// File with the secret that nodes prove to each other; several lines: the first proves, any is
    /// accepted; read again when it changes [default: none, everybody is let in]
    #[arg(
        id = "peer-secret-file",
        long = "peer-secret-file",
        env = "DUNLIN_PEER_SECRET_FILE",
        value_name = "FILE"
    )]
    pub file: Option<PathBuf>,
    /// Whether nodes that prove no secret are refused (required) or let in while the secret is being
    /// brought to all (offered) [default: required]
    #[arg(
        id = "peer-secret-mode",
        long = "peer-secret-mode",
        env = "DUNLIN_PEER_SECRET_MODE",
        value_name = "MODE"
    )]
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl PeerSecret {
    /// Flags win over the file of settings.
    #[must_use]
    pub fn or(self, file: PeerSecret) -> PeerSecret {
        PeerSecret {
            file: self.file.or(file.file),
            mode: self.mode.or(file.mode),
        }
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// When a mode is given and no file.
    pub fn check(&self) -> Result<(), Failure> {
        match (&self.file, self.mode) {
            (None, Some(_)) => Err(Failure::Usage(
                "peer secret mode without a secret: give --peer-secret-file as well".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// How much the port insists.
    pub fn mode(&self) -> Mode {
        match (&self.file, self.mode) {
            (None, _) => Mode::Off,
            (Some(_), mode) => mode.unwrap_or(Mode::Required),
        }
    }

    /// Whom the port lets in.
    pub fn lets_in(&self) -> LetsIn {
        match self.mode() {
            Mode::Off => LetsIn::All,
            Mode::Offered => LetsIn::AllAsYet,
            Mode::Required => LetsIn::Known,
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn open(&self) -> Result<Guarded, Failure> {
        let guarded = Guarded::open(Door::Peer, self.mode(), self.file.as_deref())?;
        if let Some(warning) = &guarded.warning {
            tracing::warn!("{warning}");
        }
        Ok(guarded)
    }
}

/// A guard, and the file its secrets are from.
pub struct Guarded {
    /// The guard.
    pub guard: Arc<Guard>,
    /// What is to be said of the file, if anything.
    pub warning: Option<String>,
    file: Option<SecretFile>,
}

impl Guarded {
    /// Reads the file, if there is one: without it everybody is let in.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    fn open(door: Door, mode: Mode, file: Option<&Path>) -> Result<Guarded, Failure> {
        let Some(path) = file else {
            return Ok(Guarded {
                guard: Guard::off(door),
                warning: None,
                file: None,
            });
        };
        let (file, secrets, warning) = SecretFile::open(path).map_err(Failure::Usage)?;
        let nonces = Box::<SystemNonces>::default();
        Ok(Guarded {
            guard: Guard::new(door, mode, secrets, nonces),
            warning,
            file: Some(file),
        })
    }

    /// The same for `dunlin receive` and `dunlin copy`.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn for_copies(file: Option<&Path>) -> Result<Guarded, Failure> {
        Guarded::open(Door::Copy, Mode::Required, file)
    }

    /// Looks at the file once, and takes over what has changed in it. The line, if there is one, is for
    /// people, and whether it is about something wrong.
    pub fn look(&mut self) -> Option<(String, bool)> {
        match self.file.as_mut()?.look() {
            Read::Same => None,
            Read::Changed(secrets) => {
                self.guard.replace(secrets);
                let line = "the secret file has changed and holds from now on";
                Some((line.to_owned(), false))
            }
            Read::Wrong(line) => {
                Some((format!("{line}; the secrets from before still hold"), true))
            }
        }
    }

    /// Takes over what changes in the file, for as long as it is polled.
    pub async fn keep_up(mut self) {
        while self.file.is_some() {
            tokio::time::sleep(LOOK_EVERY).await;
            match self.look() {
                None => {}
                Some((line, false)) => tracing::info!("{line}"),
                Some((line, true)) => tracing::warn!("{line}"),
            }
        }
    }
}
