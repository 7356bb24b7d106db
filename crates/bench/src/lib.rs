//! Load tests of Dunlin that reproduce the tables of the papers in `seeds/`.
//!
//! - [`load`]: the generator: intended start times, connections, protocols, latencies
//! - [`interrupt`]: stopping in an orderly way
// A load generator is the outside world: real time, real sockets, real files.
#![allow(clippy::disallowed_methods)]

pub mod interrupt;
pub mod load;
