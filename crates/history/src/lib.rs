//! What clients did to keys and what they were told, and whether one register a key could have told it.
//!
//! A history is *linearizable* when each operation can be given one moment between its beginning and
//! its end at which it happened, such that a plain register a key would have given the same answers.
//! Nothing of the system's own is believed: no stamps, no versions, values only.
//!
//! | module | what it is |
//! |---|---|
//! | `operation` | one operation: what was asked, when it began and ended, how |
//! | `recorder` | takes operations down from many threads, in one order |
//! | `lines` | the same as JSON, a line an operation (`docs/formats.md`, History) |
//! | `check` | a whole history, key by key |
//! | `again` | for registers whose writes may be repeated while they are under way |
//! | `prepare` | operations of a key as steps; what an unknown end may mean |
//! | `search` `waiting` `memo` | the search for an order: Wing and Gong's, with Lowe's memory |
//! | `excerpt` | from a history that cannot be, the few operations that show it |
//! | `report` | the verdict, for people |
//! | `append` | transactions that append to lists: whether they are strictly serializable |
//! | `graph` | who must come before whom, and cycles of that |
#![deny(unsafe_code)]

mod again;
mod append;
mod check;
mod excerpt;
mod graph;
mod lines;
mod memo;
mod operation;
mod prepare;
mod recorder;
mod report;
mod search;
mod waiting;

pub use again::grant_again;
pub use append::{Anomaly, Step, Transaction, check_appends};
pub use check::{Limits, check};
pub use graph::Edge;
pub use lines::{LineError, from_lines, to_lines};
pub use operation::{Kind, Moment, Operation, Outcome, Value};
pub use recorder::{Call, Recorder};
pub use report::{Report, Violation};
