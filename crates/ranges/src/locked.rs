//! The lock of a key. Nothing relies on it.

use dunlin_entry::Version;

/// The lock of a key, until this is dropped, or for a second.
pub(crate) struct Locked {
    /// Whether others had it first.
    pub has_waited: bool,
    /// A timestamp that was given since.
    pub at: Version,
    unlock: Option<Box<dyn FnOnce()>>,
}

impl Locked {
    /// One that ends by this.
    pub fn new(has_waited: bool, at: Version, unlock: impl FnOnce() + 'static) -> Locked {
        Locked {
            has_waited,
            at,
            unlock: Some(Box::new(unlock)),
        }
    }

    /// It has ended where it is.
    pub fn has_ended(mut self) {
        self.unlock = None;
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if let Some(unlock) = self.unlock.take() {
            unlock();
        }
    }
}
