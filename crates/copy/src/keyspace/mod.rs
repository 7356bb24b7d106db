//! A keyspace of a running cluster as the target. Every pair goes through the cluster's log as any
//! write does, in bulk; what a receiver would remember is kept beside the source.

mod address;
mod body;
mod cluster;
mod compare;
mod copy;
mod memory;
mod merge;
mod pages;
mod shared;
mod worker;

pub use address::KeyspaceAddress;
pub(crate) use copy::{copy, verify};
