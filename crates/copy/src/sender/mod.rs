//! The sender: reads the source's checkpoint and sends it, unit by unit, over several connections.

pub(crate) mod begin;
mod carrier;
pub(crate) mod choose;
mod copy;
pub(crate) mod dial;
mod files;
pub(crate) mod left;
mod part;
mod range;
mod verify;
mod worker;

pub(crate) use copy::copy;
pub(crate) use verify::verify;
