//! The sender: reads the source's checkpoint and sends it, unit by unit, over several connections.

mod begin;
mod choose;
mod copy;
mod dial;
mod files;
mod part;
mod range;
mod settings;
mod verify;
mod worker;

pub use copy::{Outcome, copy};
pub use settings::{Settings, Target};
pub use verify::{Verified, verify};
