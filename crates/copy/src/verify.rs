//! Compares, with whatever kind of target.

use crate::CopyError;
use crate::keyspace;
use crate::outcome::Verified;
use crate::plan::Onto;
use crate::sender;
use crate::sender::dial::Dialer;
use crate::settings::{Settings, Target};
use crate::watch::Watch;

/// Reads source and target and compares them, range by range. A target that holds more than the
/// source differs, unless it is a keyspace and the settings say that it was merged into.
///
/// # Errors
/// [`CopyError::Different`], and what can go wrong while reading.
pub fn verify(settings: &Settings, watch: &Watch) -> Result<Verified, CopyError> {
    match &settings.target {
        Target::Keyspace(address) => keyspace::verify(address, settings, watch),
        target if settings.onto != Onto::Empty => Err(CopyError::Refused(format!(
            "{target} can only be compared as a whole; --merge goes with --verify-only for \
             keyspaces alone"
        ))),
        Target::Directory(path) => sender::verify(&Dialer::local(path), settings, watch),
        Target::Receiver(address) => {
            sender::verify(&Dialer::remote(address, &settings.guard), settings, watch)
        }
    }
}
