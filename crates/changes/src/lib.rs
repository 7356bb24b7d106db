//! Change streams: a client is one more follower of the log (decision 48).
//!
//! A stream is of a keyspace, at whichever node the client reaches. Its partitions are shared out among
//! replicas, those of this node first; each *source* is one follower of one shard's log, here or at another
//! shard, and their items are merged as they come. Nothing is queued for who is slow: what is not read yet is
//! in a log or a store.
//!
//! | file | duty |
//! |---|---|
//! | `plug` | what plugs into the node: paths, requests of other shards |
//! | `subscription` | what a client wants, out of a request |
//! | `assign` | pure: which replica serves which partitions |
//! | `merge` | all sources of a stream, as one |
//! | `source` | one of them: a follower here, or a stream from another shard; at its end a place at its tail |
//! | `tail` | the end of a log, read once for all who are there; `ring` (pure), what it had lately; `joined`, a place in that |
//! | `places` | places for who catches up at another shard, lent for a while |
//! | `reading` | a follower and what is asked of it, on either side of a connection |
//! | `item` | what a source gives at a time, as value and as bytes; what it is asked; `change`, one of its changes |
//! | `wire` | bytes between shards: what messages are made of, of other capabilities too |
//! | `cursor` | pure: a named cursor, and who has it; `cursors`, where they are kept; `cursor_http`, their paths; `lease`, a stream that has one; `pins`, what of the log is kept for them |
//! | `cut` | pure: the token in the middle of an item |
//! | `gauge` | how far each stream is, for people |
//! | `target` | what a stream that ends must have told: asked of a majority |
//! | `body` | a stream as the body of an answer; `outbox`, its lines in pieces; `window`, how many are on their way; `held`, the bytes held for clients that do not read |
//! | `turn` | whose turn it is to write much to a client |
//! | `line` | events as lines of JSON or as server-sent events |
#![deny(unsafe_code)]

mod assign;
mod body;
mod change;
mod cursor;
mod cursor_http;
mod cursors;
mod cut;
mod gauge;
mod held;
mod item;
mod joined;
mod lease;
mod line;
mod merge;
mod outbox;
mod pins;
mod places;
mod plug;
mod reading;
mod ring;
#[cfg(test)]
mod sample;
mod source;
mod subscription;
mod tail;
mod target;
mod turn;
mod window;
pub mod wire;

pub use assign::assign;
pub use change::Change;
pub use item::{Item, What};
pub use merge::{Merged, Told};
pub use plug::Changes;
pub use reading::Asked;
pub use target::all_targets;
