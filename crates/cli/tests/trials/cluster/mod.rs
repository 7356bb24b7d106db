//! Clusters of processes on a real etcd: killed, cut off, emptied, left behind.

mod backfill;
mod crash;
mod cut;
mod first;
mod lost;
mod metadata;
mod past;
mod quorum;
mod range;
