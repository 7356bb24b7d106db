//! What a capability that plugs into the node needs to answer over HTTP.

pub use crate::api::{
    Answer, Ask, Chunks, Need, Params, Rejected, Rule, ask_plugged, bounds, empty, json, json_line,
    json_text, live, put_bytes, stream, value,
};
pub use crate::env::LocalFuture;
pub use crate::limits::KEY_BYTES;
