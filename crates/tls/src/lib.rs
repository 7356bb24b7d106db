//! TLS from PEM files, reloaded when the files change.
//!
//! ```text
//!  files --> pem --> identity, roots --> server, client --> Kept<config> <-- watch, every 2 s
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | [`error`] | what is wrong with a file, and what to do about it |
//! | `pem` | a file's bytes; certificates and a private key in them |
//! | `identity` | a certificate chain and the key that belongs to it |
//! | `roots` | whose certificates are believed: a file's, or the system's |
//! | `server`, `client` | rustls' settings for either side |
//! | [`kept`] | settings in use, and the change to new ones once these are whole |
//! | `print` | whether a file has changed |
//! | [`watch`] | the thread that looks |
//! | [`validity`] | until when a certificate is good, and what to say of that |
//! | [`trouble`] | why a connection did not come about, for whoever reads one line |
//!
//! It knows nothing of what is sent. Decision 29 says why rustls, and how reloading goes.
#![deny(unsafe_code)]

mod client;
pub mod error;
mod identity;
pub mod kept;
mod pem;
mod print;
mod provider;
mod roots;
mod server;
pub mod trouble;
pub mod validity;
pub mod watch;

pub use client::{ClientFiles, ClientTls};
pub use error::TlsError;
pub use identity::IdentityFiles;
pub use kept::Kept;
pub use rustls::pki_types::ServerName;
pub use rustls::{ClientConfig, ServerConfig};
pub use server::{ServerFiles, ServerTls};
pub use tokio_rustls::{
    TlsAcceptor, TlsConnector, TlsStream, client as client_stream, server as server_stream,
};
pub use trouble::Trouble;
pub use validity::Validity;
pub use watch::Watch;

#[cfg(test)]
mod authority_tests;
