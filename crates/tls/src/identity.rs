//! Who a side says it is: a certificate chain, and the key that proves it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::sign::CertifiedKey;

use crate::error::TlsError;
use crate::pem;
use crate::provider::provider;
use crate::validity::Validity;

/// Where an identity is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate, then those of the CAs between it and the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// An identity that was read.
pub(crate) struct Identity {
    pub certified: Arc<CertifiedKey>,
    pub validity: Validity,
}

impl IdentityFiles {
    pub(crate) fn load(&self) -> Result<Identity, TlsError> {
        let chain = pem::certificates("certificate file", &self.certificate)?;
        let key = pem::key(&self.key)?;
        let provider = provider();
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|error| TlsError::UnusableKey {
                path: self.key.clone(),
                detail: error.to_string(),
            })?;
        let validity = Validity::of(&chain).map_err(|detail| TlsError::Damaged {
            what: "certificate file",
            path: self.certificate.clone(),
            detail,
        })?;
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().map_err(|_| TlsError::Mismatch {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
        })?;
        Ok(Identity {
            certified: Arc::new(certified),
            validity,
        })
    }

    /// Whether anybody on this machine may read the key.
    pub(crate) fn is_key_open(&self) -> bool {
        is_open(&self.key)
    }
}

fn is_open(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.permissions().mode() & 0o004 != 0)
}
