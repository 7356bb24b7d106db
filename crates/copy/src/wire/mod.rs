//! The wire: `docs/formats.md` section 7.

pub(crate) mod codec;
pub(crate) mod frame;
pub(crate) mod guarded;
pub(crate) mod hello;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod pair;
pub(crate) mod refusal;
