//! The source: a checkpoint of it, and what is in that.

pub(crate) mod blob;
pub(crate) mod checkpoint;
mod crc;
pub(crate) mod database;
pub(crate) mod directory;
pub(crate) mod ranges;
pub(crate) mod survey;
pub(crate) mod table;
