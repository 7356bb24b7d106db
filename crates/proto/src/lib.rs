//! What goes over the wires: what shards say to one another, and whoever talks straight to them. One
//! file a message, encode and decode side by side; without sockets, event loop or store, so that a
//! client has the same code as a node.
//!
//! | file | holds |
//! |---|---|
//! | `request` `response` | the envelopes: every question, and the answer of the same name |
//! | `write` `read` | a change on its way to the replica that logs it first; one key's newest value |
//! | `replicate` | a piece of an origin's log on its way to a replica |
//! | `vectors` | what two shards have seen, and their pasts |
//! | `pull` | entries of one origin out of any replica's log |
//! | `page` | stored values, a page at a time |
//! | `fill` | what a new replica takes over from an old one |
//! | `far` | records stamped so far ahead that nothing can be written above them |
//! | `clock` `drops` | the wall clock, and what is told with it of keyspaces that are dropped |
//! | `reach` `address` | who reaches whom; which shard |
//! | `direct` | what a client asks without HTTP between |
//! | `introduction` | what stands in a connection's hello, and in the answer to it |
//! | `token` `text` | where a follower goes on, at any replica; bytes as text for URLs |
//! | `pairs` | pairs of key and value, many in one body over HTTP |
//! | `api` | the HTTP API as plain structs |
//! | `partition` | where a key belongs |
//! | `wire` | the few shapes messages are made of |
//!
//! The bytes are those of `docs/formats.md`, sections 4, 5, 8, 9, 13 and 19.
#![deny(unsafe_code)]

mod address;
pub mod api;
mod clock;
mod direct;
mod drops;
mod far;
mod fill;
mod introduction;
mod page;
pub mod pairs;
mod partition;
mod pull;
mod reach;
mod read;
mod replicate;
mod request;
mod response;
mod text;
mod token;
mod vectors;
mod wire;
mod write;

pub use address::ShardAddress;
pub use clock::{ClockAnswer, ClockRequest};
pub use direct::{
    DIRECT_FRAME_BYTES, DIRECT_PROTOCOL, DIRECT_SHARD, DirectCommit, DirectId, DirectKey,
    DirectLeader, DirectReply, DirectRequest, DirectResponse, DirectSpan, DirectValue,
};
pub use drops::{Fate, Fates, Order, Word};
pub use far::FarRequest;
pub use fill::{FillPage, FillRequest, Froms, Place, TailAnswer, TailPin, TailRequest};
pub use introduction::Introduction;
pub use page::{
    Delta, Item, ItemRef, Page, PageCost, Run, RunBuilder, ScanRequest, SnapshotRequest,
};
pub use partition::partition_of;
pub use pull::{PullAnswer, PullRequest};
pub use reach::Reached;
pub use read::{ReadAnswer, ReadRequest};
pub use replicate::{Batch, BatchAnswer, Conflict};
pub use request::Request;
pub use response::{BEHIND, CANNOT, Response};
pub use token::{Hint, Token, TokenError, Within};
pub use vectors::{Answerer, Asker, Life, Told, VectorsAnswer, VectorsRequest};
pub use write::{Condition, Given, Refusal, WriteAnswer, WriteRequest};

#[cfg(test)]
mod message_tests;
