//! What all who follow a shard's log need, whoever they are: replicas, moves, and later views, links and
//! clients. It knows the log and none of them.
//!
//! | file | duty |
//! |---|---|
//! | `gauge` | how far each is, and how fast |
//! | `pins` | who still needs which part of the log, and for how long that counts |
//! | `retain` | pure: which segments may go |
//! | `selection` | pure: which records a follower wants; what is kept of them |

mod gauge;
mod pins;
mod retain;
mod selection;

pub use gauge::FollowerStatus;
pub(crate) use gauge::{Gauge, bytes_behind};
pub use pins::PinStatus;
pub(crate) use pins::{Class, Holder, Pins};
pub(crate) use retain::{Caps, Segment, released};
pub(crate) use selection::{Hits, Met, Selection};
