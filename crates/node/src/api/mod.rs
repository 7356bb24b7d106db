//! HTTP: one file a resource, the router in `router.rs`.

mod accept;
mod access;
mod arrival;
mod attempt;
mod body;
mod bulk;
mod cors;
mod error;
pub(crate) mod gate;
mod handshake;
mod health;
mod keys;
mod keyspaces;
mod linger;
mod members;
mod mend;
mod metadata;
mod metrics;
mod pace;
mod pair_stream;
mod params;
mod refusal;
mod reply;
mod router;
mod rules;
mod scan;
mod server;
mod status;
mod upload;
mod users;
mod v0;
mod validators;

pub(crate) use handshake::Handshakes;
pub(crate) use server::{Accepted, accept_http, serve_http};
