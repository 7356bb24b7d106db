//! Copies RocksDB databases, to a directory or over the network, in parallel and resumably.
//!
//! ```text
//!  source/  checkpoint by hard links --- sender/  connections, a unit each ===TCP or queues===+
//!           database, ranges                      plan, retries, limit                        |
//!                                                                                             v
//!  target   DIR/dunlin-copy.partial  <-- receiver/  units, journal, install  <--- serve ------+
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `copy` `verify` | the two verbs, by kind of target; `settings` is what they are told, `outcome` what they answer |
//! | `plan` | a copy and its units; chosen by the sender, kept by the receiver |
//! | `source/` | the checkpoint, the database in it, sub-ranges of about equal bytes; tables and blob files checked |
//! | `sender/` | choice of mode, connections, ranges and parts of files, comparing |
//! | `receiver/` | what is at a target, units as they arrive, the journal, the last step |
//! | `wire/` | hello, frames, compression, pairs with their checksum, messages; `docs/formats.md` section 7 |
//! | `watch` | what has been done so far |
//! | `keyspace/` | the other kind of target: a keyspace of a cluster, over HTTP; sending, journal, comparing |
//! | `queue` | what threads work off together |
//! | `gate` `limit` `patience` | bounds on memory, on bytes a second, and on the time for which failures are tried again |
//!
//! A copy is a *plan* of *units*, ranges of keys or parts of files. A unit is sent as a whole or
//! again from its beginning; the receiver compares its checksum with the sender's, puts it on
//! disk, and only then notes it in its journal. A target gets its `CURRENT` last.
#![deny(unsafe_code)]
// A copy stands outside the simulation: files, threads, sockets and clocks are its own.
#![allow(clippy::disallowed_methods)]

mod copy;
mod error;
mod gate;
mod keyspace;
mod limit;
mod outcome;
mod patience;
mod plan;
mod queue;
mod receiver;
mod sender;
mod settings;
mod source;
mod verify;
mod watch;
mod wire;

pub use copy::copy;
pub use error::{CopyError, RefusalCode};
pub use keyspace::KeyspaceAddress;
pub use outcome::{Check, Outcome, Verified};
pub use plan::{Hex, Key, Mode, Onto, Part, Range, Unit};
pub use receiver::progress::Received;
pub use receiver::serve::Receiver;
pub use settings::{Settings, Target};
pub use verify::verify;
pub use watch::{Compared, Running, Trouble, Units, Watch};
pub use wire::codec::Compression;
pub use wire::pair::Tally;
