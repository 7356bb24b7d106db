//! Transactions over ranges: what a range decides, what its leader must remember, and how a commit goes through
//! several ranges. No I/O: logs, stores, clocks and networks are behind traits (decision 55).
//!
//! | file | holds |
//! |---|---|
//! | `command` | an entry of a range's log, as value and as bytes |
//! | `intent` | a value that counts once its transaction has committed |
//! | `record` | what became of a transaction, kept by its holder |
//! | `state` | what a range's entries do, the same at every replica: writes judged, intents, records |
//! | `cache` | up to which timestamps keys were read or written |
//! | `queue` | whose turn it is to use a hot key: advice, on which nothing relies |
//! | `lock` | waiting for one's turn, at the leader |
//! | `late` | deadlines and floors of clients beside timestamps |
//! | `leader` | what a leader refuses before it proposes: writes below what was read |
//! | `request` | what a range's leader is asked, and what it answers |
//! | `serve` | a request at the leader |
//! | `update` | a transaction in one range, evaluated at the leader |
//! | `sum` | a number that is added to a value |
//! | `commit` | a transaction's writes, from any node |
//! | `refresh` | a commit at a later timestamp than that of the reads |
//! | `tend` | what a leader does unasked: expired intents, transactions that others do not know of yet |
//! | `oracle` | timestamps: windows of them, and who waits for which |
//!
//! A transaction is known by its timestamp. It reads and writes at that timestamp, and whoever would have to be seen by
//! a read that has already been answered is refused.
#![deny(unsafe_code)]

mod cache;
mod command;
mod commit;
mod intent;
mod late;
mod leader;
mod lock;
mod oracle;
mod queue;
mod record;
mod refresh;
mod request;
mod serve;
mod state;
mod sum;
mod tend;
mod update;

pub use cache::Cache;
pub use command::{Check, Command, Id, Malformed, Refusal, Write, bytes as get_bytes, put_bytes};
pub use commit::{Outcome, Share, Way, close, commit, finalize_all, refused, reserve};
pub use intent::Intent;
pub use late::Wall;
pub use leader::Leader;
pub use oracle::{Full, Oracle};
pub use queue::Locks;
pub use record::{IdRecord, NameOutcome, Record};
pub use refresh::{Reads, commit_later, refresh};
pub use request::{Answer, Blocker, Request, Row, Span, Update};
pub use serve::{Newest, Replica, Unheard, World, serve, timely};
pub use state::{Judged, ORIGIN, Rows, State, Verdict, holds};
pub use sum::sum;
pub use tend::tend;
