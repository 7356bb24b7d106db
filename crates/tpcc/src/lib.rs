//! A workload derived from TPC-C 5.11, on Dunlin and on PostgreSQL: the same rows, the same input, the same conditions. Its results
//! are not comparable with published results of TPC-C.
//!
//! - [`scale`], [`rows`], [`random`], [`population`]: the rows of a warehouse; [`load`]: loading them
//! - [`input`]: what terminals enter; [`target`]: what carries it out; [`terminal`]: terminals at work;
//!   [`deferred`]: deliveries that they queue
//! - [`tables`]: all rows at one moment; [`conditions`]: what must hold of them; [`memory`]: rows without a database
//! - [`dunlin`], with its keys ([`key`]); [`postgres`]
// A terminal is the outside world: real time, real sockets.
#![allow(clippy::disallowed_methods)]

pub mod conditions;
pub mod deferred;
pub mod dunlin;
pub mod input;
pub mod key;
pub mod load;
pub mod memory;
pub mod population;
pub mod postgres;
pub mod random;
pub mod rows;
pub mod scale;
pub mod tables;
pub mod target;
pub mod terminal;
