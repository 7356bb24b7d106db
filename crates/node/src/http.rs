//! What a capability that plugs into the node needs to answer over HTTP.

pub use crate::api::{
    Answer, Ask, Chunks, Need, Params, Rejected, Rule, empty, json, json_line, lines, prefix_end,
    stream, value,
};
pub use crate::env::LocalFuture;
pub use crate::limits::KEY_BYTES;
