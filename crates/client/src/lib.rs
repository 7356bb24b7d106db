//! Asynchronous HTTP client for a Dunlin cluster.
//!
//! Map of the crate:
//! - [`client`]: [`Client`], built from a list of servers; keyspaces, status, health
//! - [`keyspace`]: [`Keyspace`], reads and writes of one keyspace
//! - [`scan`]: [`Scan`], a range read as it arrives
//! - [`pair_scan`]: [`PairScan`], the same without versions, for much data; [`Pairs`], many of them
//!   stored with one request
//! - [`changes`]: [`Changes`], a keyspace's changes as they happen
//! - [`cursors`]: [`Cursor`], places in them that the cluster keeps
//! - [`views`]: [`View`], indexes of a keyspace, and [`ViewRows`], what they answer
//! - [`mod@add`], counters; [`transactions`], and [`direct`] the same without HTTP between
//! - [`links`]: what other clusters get of a keyspace
//! - [`options`]: acknowledgements, expiry, conditions
//! - [`credentials`]: who asks; [`users`]: who may
//! - [`description`], [`status`], [`members`] and [`recovery`]: what the cluster says about itself
//! - [`error`]: [`ClientError`], one variant for each thing a caller can do next
//! - `address`, `pool`, `call`, `attempt`, `answer`: server names, kept-alive connections, one
//!   request with failover, until when a write may be stamped, a body as it arrives; `lines`, the same line by line
//!
//! ```no_run
//! # async fn example() -> Result<(), dunlin_client::ClientError> {
//! let client = dunlin_client::Client::new("http://127.0.0.1:8080,http://127.0.0.1:8081")?;
//! let store = client.keyspace("default");
//! let version = store.put(b"dunlin", "a small wader".into(), &Default::default()).await?;
//! let value = store.get(b"dunlin", Default::default()).await?;
//! assert_eq!(value.map(|v| v.version), Some(version));
//! # Ok(()) }
//! ```

pub mod add;
mod address;
mod answer;
mod attempt;
mod call;
pub mod changes;
pub mod client;
pub mod credentials;
pub mod cursors;
pub mod description;
pub mod direct;
pub mod error;
pub mod keyspace;
mod lines;
pub mod links;
pub mod members;
pub mod options;
pub mod pair_scan;
mod pool;
pub mod recovery;
pub mod scan;
pub mod status;
pub mod transactions;
pub mod users;
pub mod views;

pub use add::Added;
pub use changes::{Change as KeyChange, Changes, Event, Since, Subscription};
pub use client::Client;
pub use credentials::Credentials;
pub use cursors::Cursor;
pub use description::{
    CreateKeyspace, DroppedKeyspace, FarRecord, KeyspaceDescription, KeyspaceSettings,
    MendedStamps, RangeDescription, Retention,
};
pub use direct::{Direct, DirectThread, DirectTransaction};
pub use dunlin_proto::api::{
    BackfillStatus, CreateLink, Difference, DifferentKey, FollowerStatus, InboundLink, LinkAtShard,
    LinkState, LinkStatus, LinkVerified, PinStatus, RangeCopy, RangeMember, RangeStatus,
    RecoveryStatus, SkippedDocument, StreamStatus, TriedDocument, TriedRow, VerifyPhase, View,
    ViewAtShard, ViewDifference, ViewStatus, ViewVerified,
};
pub use dunlin_proto::pairs::{Pair, PairError, Pairs, PairsBody};
pub use dunlin_proto::partition_of;
pub use dunlin_tls::{ClientFiles, ClientTls, IdentityFiles, TlsError};
pub use error::ClientError;
pub use keyspace::{Keyspace, Stored, Value};
pub use lines::Reports;
pub use links::{AlterLink, LinkVerification, VerifyLink};
pub use members::{Change, ChangeMembers, Members, MoveState, RangeTarget};
pub use options::{Condition, Expires, Quorum, WriteOptions};
pub use pair_scan::PairScan;
pub use recovery::{LeftReplica, RangeBeginning, RangeRecovered, RangeRemains, RecoverRange};
pub use scan::{Entry, Range, Scan};
pub use status::{NodeStatus, ShardStatus, Status};
pub use transactions::Transaction;
pub use users::{ChangedUsers, NewUser, SetUser, User, Users};
pub use views::{ViewRow, ViewRows, ViewVerification};
