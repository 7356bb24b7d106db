//! One log, many cursors: how entries reach the other replicas, and how a
//! replica that was away gets what it missed.

pub(crate) mod acks;
mod backfill;
mod catch_up;
mod find;
pub(crate) mod link;
mod orphans;
mod pull;
mod reclaim;
mod reconcile;
mod send;

#[cfg(test)]
pub(crate) use reclaim::tests as testing;

pub(crate) use backfill::copy_of;
pub(crate) use catch_up::address_of;
pub(crate) use orphans::Copies;
