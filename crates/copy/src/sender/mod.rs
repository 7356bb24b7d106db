//! The sender: reads the source's checkpoint and sends it, unit by unit, over several connections.

pub(crate) mod begin;
pub(crate) mod choose;
pub(crate) mod copy;
pub(crate) mod dial;
mod files;
mod part;
mod range;
mod settings;
mod verify;
mod worker;

pub use copy::{Outcome, copy};
pub use settings::{Settings, Target};
pub use verify::{Verified, verify};
