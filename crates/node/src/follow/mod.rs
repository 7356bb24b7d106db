//! What all who follow a shard's log need, whoever they are: replicas, moves, and later views, links and
//! clients. It knows the log and none of them.
//!
//! | file | duty |
//! |---|---|
//! | `apart` | work that goes on while its owner asks for nothing |
//! | `begin` | pure: where a follower begins that has come so far |
//! | `class` | whom a shard is read for |
//! | `coverage` | pure: from where on the log serves a partition; `coverage_note`, the same on disk |
//! | `cursor` | what of the log is kept for who committed up to a token |
//! | `follower` | who reads a keyspace's entries from a token on: log and stored records |
//! | `gauge` | how far each is, and how fast |
//! | `lag` | pure: what is done for a replica that falls behind |
//! | `pace` | pure: how fast a copy may go while clients wait no longer than they are promised |
//! | `pins` | who still needs which part of the log, and for how long that counts |
//! | `progress` | how far a backfill is |
//! | `reader` | a place in the log for who is no replica, in turns |
//! | `retain` | pure: which segments may go |
//! | `settle` | what too few are known to have is read by a majority |
//! | `shown` | pure: whether who is no replica may be shown an entry |
//! | `selection` | pure: which records a follower wants; what is kept of them |
//! | `source` | a place in the log that goes on, as far as its reader may see |
//! | `stored` | stored records for who is no replica, a page at a time |
//! | `put_back` | pure: whether a log is still the one that a token is of |
//! | `tally` | how often followers began in a log, and how often with stored records |
//! | `turns` | pure: who is read for first, a quantum at a time; `turn`, waiting for it |

mod apart;
mod begin;
mod class;
mod coverage;
mod coverage_note;
mod cursor;
mod follower;
mod gauge;
mod lag;
mod pace;
mod pins;
mod progress;
mod put_back;
mod reader;
mod retain;
mod selection;
mod settle;
mod shown;
mod source;
mod stored;
mod tally;
mod turn;
mod turns;

pub use begin::Scope;
pub(crate) use begin::{Here, Past, Start, begin, go_on};
pub(crate) use class::Class;
pub(crate) use coverage::{Coverage, Found, Mark, Serves};
pub(crate) use coverage_note::Note;
pub use cursor::Pinned;
pub use follower::{Follow, FollowError, Followers, From, Next, Wanted};
pub(crate) use gauge::{Gauge, bytes_behind};
pub(crate) use lag::Lag;
pub(crate) use pace::Pace;
pub(crate) use pins::{Holder, Pins};
pub(crate) use progress::Progress;
pub(crate) use reader::Reader;
pub(crate) use retain::{Caps, Segment, kept_at_least, kept_at_most, released};
pub use selection::is_news_entry;
pub(crate) use selection::{Hits, Met, Selection, is_news};
pub(crate) use shown::is_shown;
pub(crate) use source::{Bound, Source};
pub use tally::Begun;
pub(crate) use turn::{ReadTurns, Turn};
