//! Framed, checksummed, pipelined calls between shards.
//!
//! One shard asks another through a [`Caller`], whichever way the bytes go. What it asks is a
//! [`Message`](dunlin_message::Message), of which nothing else is known here:
//!
//! ```text
//!                 +-- connect.rs --- session.rs --- wire.rs ===TCP/unix===+
//!  Caller (caller)|       reconnects   frames, pings, timers  bytes       |--> Service (service)
//!                 +-- queue.rs ------ mailbox.rs  (same process, no bytes)+
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `error` | why a call failed, and the codes of refusals |
//! | `frame` | the bytes of one frame, `docs/formats.md` section 4 |
//! | `hello` | the bytes that open a connection |
//! | `guarded` | what may stand before them: who shares a secret, on either side |
//! | `transport`, `tcp` | where streams come from: the trait, and the real one |
//! | `outbox` | frames waiting to be written, bounded, coalesced into one write |
//! | `wire` | one stream: bytes to frames and the outbox to bytes |
//! | `session` | one live connection on either side: reading, pings, silence, flushing |
//! | `time_left` | the time left for a call, as it travels |
//! | `given_up` | calls whose answerer wants to hear that nobody waits any more |
//! | `pending` | outstanding calls by slab index, and their deadlines |
//! | `call`, `caller` | the future of one call; the handle that makes them |
//! | `connect`, `backoff` | the calling side of a connection, kept up for ever |
//! | `mailbox`, `queue` | calls inside one process, across threads |
//! | `service` | what answers calls: [`Service`] and [`Reply`] |
//! | `stream/` | calls whose answer is a sequence of items, as it is read |
//! | `serve` | the answering side of a stream or a queue |
//! | `accept` | reading hellos on one thread, handing the stream to another |
//! | `failed` | accepts that fail: how long to wait, how often to tell |
//!
//! Everything but [`QueueAddress`], [`Detached`] and [`Transport`] lives on one shard's thread,
//! inside a `tokio::task::LocalSet`. Time is `tokio::time`, so a simulation can pause it.
#![deny(unsafe_code)]

pub mod accept;
mod backoff;
mod call;
mod caller;
mod connect;
mod error;
mod failed;
mod frame;
mod given_up;
mod guarded;
mod hello;
mod mailbox;
mod outage;
mod outbox;
mod pending;
mod queue;
mod serve;
mod service;
mod session;
mod stream;
mod tcp;
mod time_left;
pub mod transport;
mod wire;

pub use call::Call;
pub use caller::{Caller, CallerStats};
pub use connect::{ConnectOptions, Opening, attach, connect, knock};
pub use error::{AcceptError, CallError, ServeError, refusal};
pub use failed::FailedAccepts;
pub use frame::{FRAME_BYTES_MAX, FrameError};
pub use given_up::GivenUp;
pub use hello::{Hello, PROTOCOL, Status};
pub use queue::{Inbox, QueueAddress, QueueOptions, queue};
pub use serve::{Limits, serve_accepted, serve_frames, serve_inbox, serve_stream};
pub use service::{Backlog, ROOM_BYTES_MIN, Refused, Reply, Room, Service};
pub use session::Keepalive;
pub use stream::items::Items;
pub use stream::sink::{Sink, SinkError};
pub use stream::{QUANTUM_BYTES, WINDOW_BYTES_MAX, WINDOW_BYTES_MIN};
pub use tcp::TcpTransport;
pub use transport::{Detached, Duplex, Listener, LocalFuture, Plain, Stream, Transport};
