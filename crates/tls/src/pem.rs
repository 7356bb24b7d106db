//! PEM files: certificates and a private key.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::TlsError;

/// More than the certificates of any system, which are a quarter of it.
pub(crate) const BYTES_MAX: u64 = 1 << 20;

/// A whole file.
pub(crate) fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| TlsError::Unreadable {
            what,
            path: path.to_owned(),
            error,
        })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(TlsError::TooLarge {
            what,
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// All certificates of a file, at least one.
pub(crate) fn certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read(what, path)?;
    let found = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Damaged {
            what,
            path: path.to_owned(),
            detail: error.to_string(),
        })?;
    if found.is_empty() {
        Err(TlsError::NoCertificate {
            what,
            path: path.to_owned(),
        })
    } else {
        Ok(found)
    }
}

/// The private key of a file. What the library says of a damaged one is left out: it may quote it.
pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let bytes = read("key file", path)?;
    match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(key) => Ok(key),
        Err(_) if contains(&bytes, b"ENCRYPTED") => Err(TlsError::EncryptedKey {
            path: path.to_owned(),
        }),
        Err(rustls::pki_types::pem::Error::NoItemsFound) => Err(TlsError::NoKey {
            path: path.to_owned(),
        }),
        Err(_) => Err(TlsError::Damaged {
            what: "key file",
            path: path.to_owned(),
            detail: "its PEM text is cut off or garbled".to_owned(),
        }),
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
