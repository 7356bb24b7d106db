//! Which entries of a stream are sent to the other cluster. Pure.

use dunlin_entry::{Entry, Vector};

/// Whether an entry is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// It is.
    Send,
    /// The other cluster made it.
    TheirOwn,
    /// It was sent, and the other cluster may have deleted it since and forgotten that.
    SentBefore,
}

/// Picks an entry. `theirs` is the number of the other cluster; of a stored record `sent` is the vector of its
/// partition up to which all was acknowledged.
pub(crate) fn pick(entry: &Entry, theirs: u16, sent: Option<&Vector>) -> Pick {
    if entry.stamp.origin.cluster() == theirs {
        return Pick::TheirOwn;
    }
    let position = entry.position();
    if sent.is_some_and(|sent| sent.get(position.origin) >= position.sequence) {
        return Pick::SentBefore;
    }
    Pick::Send
}

#[cfg(test)]
#[path = "pick_tests.rs"]
mod tests;
