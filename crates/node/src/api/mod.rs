//! HTTP: one file a resource, the router in `router.rs`.

mod accept;
mod bulk;
mod error;
mod health;
mod keys;
mod keyspaces;
mod members;
mod metrics;
mod pair_stream;
mod pairs;
mod params;
mod reply;
mod router;
mod scan;
mod server;
mod status;
mod v0;

pub(crate) use server::{accept_http, serve_http};
