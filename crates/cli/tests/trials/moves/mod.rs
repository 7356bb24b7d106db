//! Nodes come and go on a real etcd while clients read and write: added, drained, replaced, killed.

mod kills;
mod local;
mod outage;
mod refusal;
mod replace;
mod retention;
mod wider;
