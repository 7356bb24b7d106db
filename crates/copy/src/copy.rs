//! Copies, to whatever kind of target.

use crate::CopyError;
use crate::keyspace;
use crate::outcome::Outcome;
use crate::sender;
use crate::sender::dial::Dialer;
use crate::settings::{Settings, Target};
use crate::watch::Watch;

/// Copies. Blocks until the target is whole or nothing more can be done; what is done by then is
/// gone on with by the next call with the same settings.
///
/// # Errors
/// See [`CopyError`].
pub fn copy(settings: &Settings, watch: &Watch) -> Result<Outcome, CopyError> {
    match &settings.target {
        Target::Directory(_) | Target::Receiver(_) if !settings.is_compared => {
            let target = &settings.target;
            Err(CopyError::Refused(format!(
                "{target} is no keyspace: each range is compared by its checksum as it arrives, so \
                 --no-verify does not apply"
            )))
        }
        Target::Directory(path) => sender::copy(&Dialer::local(path), settings, watch),
        Target::Receiver(address) => {
            sender::copy(&Dialer::remote(address, &settings.guard), settings, watch)
        }
        Target::Keyspace(address) => keyspace::copy(address, settings, watch),
    }
}
