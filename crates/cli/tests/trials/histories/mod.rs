//! Real processes that are stopped, killed, cut off, and robbed of what they did not sync, under
//! clients whose histories must be linearizable.

mod clients;
mod crash;
mod dropped;
pub mod etcd;
mod forgetful;
mod fuse;
mod pause;
mod power;
