//! What a capability that plugs into the node needs to answer over HTTP.

pub use crate::api::{
    Answer, Ask, Chunks, Judge, Need, Params, Rejected, Rule, Upgrade, Upgrading, ask_plugged,
    bounds, empty, json, json_line, json_text, live, put_bytes, stream, switching, value,
};
pub use crate::env::LocalFuture;
pub use crate::limits::KEY_BYTES;
