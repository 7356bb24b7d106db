//! Comparisons of two linked clusters while both are written to.
//!
//! | file | duty |
//! |---|---|
//! | `digest` | pure: sums and lists of values |
//! | `outcome` | pure: whether a key differs |
//! | `range` | the values of a range, at a replica |
//! | `serve` | the side of the other cluster |
//! | `other` | requests to the other cluster |
//! | `walk` | goes over the ranges of both |
//! | `confirm` | reads keys whose ranges differ on majorities of both |
//! | `repair` | repairs them |
//! | `saved` | where a comparison goes on |
//! | `run` | a comparison, and its progress |

mod confirm;
mod digest;
mod other;
mod outcome;
mod range;
mod repair;
mod run;
mod saved;
mod serve;
mod walk;

pub(crate) use range::serve as serve_range;
pub(crate) use run::answer;
pub(crate) use saved::save as save_state;
pub(crate) use serve::{compare, digests};
