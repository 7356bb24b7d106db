//! HTTP as clients see it: every status of `/v0` and `/v1`, and whatever else a socket can bring.

mod conditional;
mod cors;
mod entity;
mod expiry;
mod export;
mod framing;
mod keyspace;
mod long_key;
mod malformed;
mod metrics;
mod pairs;
mod range;
mod refused;
mod state;
