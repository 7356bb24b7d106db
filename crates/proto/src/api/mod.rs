//! The HTTP API as plain structs, the same for the server that writes them as JSON and the client that reads them.
//!
//! | file | holds |
//! |---|---|
//! | `status` | `/v1/status`: followers, streams, ranges, the state of a shard's recovery |
//! | `link` | `/v1/links` and `/v1/keyspaces/NAME/links`: links between clusters, and the messages between their ends |
//! | `link_verify` | their `verify`: comparisons of two clusters |
//! | `view` | `/v1/keyspaces/NAME/views`: the state of a view, and its verification |

mod link;
mod link_verify;
mod status;
mod view;

pub use link::{
    CreateLink, EntriesTaken, FutureEntry, HexVersion, HomeProgress, Homes, InboundLink,
    LinkAtShard, LinkCounts, LinkError, LinkReport, LinkState, LinkStatus, LinkTarget,
};
pub use link_verify::{
    CompareAnswer, CompareRequest, Difference, DifferentKey, DigestAnswer, DigestRequest,
    LinkVerified, VerifyPhase,
};
pub use status::{
    BackfillStatus, FeedStatus, Figure, FollowerStatus, LedRange, PinStatus, RangeCopy,
    RangeMember, RangeStatus, RecoveryStatus, StreamStatus, ViewStatus,
};
pub use view::{
    PartitionSum, SkippedDocument, TriedDocument, TriedRow, View, ViewAtShard, ViewDifference,
    ViewVerified,
};
