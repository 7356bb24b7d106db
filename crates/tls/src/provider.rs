//! The one implementation of ciphers.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// Handed in wherever rustls would look for a process's default, so that no library can put
/// another one in its place.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
