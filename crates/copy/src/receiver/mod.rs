//! The receiver: a directory that becomes a database once everything has arrived.

pub(crate) mod active;
pub(crate) mod digest;
mod insert;
pub(crate) mod install;
pub(crate) mod opening;
mod options;
pub(crate) mod place;
pub(crate) mod progress;
mod remove;
pub(crate) mod serve;
pub(crate) mod state;
pub(crate) mod unit;
