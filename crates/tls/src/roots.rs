//! Whose certificates are believed.

use std::path::Path;

use rustls::RootCertStore;

use crate::error::TlsError;
use crate::pem;

/// Those of a file, each of which must be sound: they were named one by one.
pub(crate) fn of_file(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates("CA file", path)? {
        roots.add(certificate).map_err(|error| TlsError::Damaged {
            what: "CA file",
            path: path.to_owned(),
            detail: error.to_string(),
        })?;
    }
    Ok(roots)
}

/// Those of the system, as far as they are sound: nobody here chose them.
pub(crate) fn of_system() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        Err(TlsError::NoRoots)
    } else {
        Ok(roots)
    }
}
