//! What a capability that plugs into the node needs to answer over HTTP.

pub use crate::api::{Answer, Ask, Chunks, Need, Params, Rejected, Rule, empty, json, stream};
pub use crate::env::LocalFuture;
