//! What is wrong with a file, in one line that says what to do. No line holds any of a key.

use std::io;
use std::path::PathBuf;

/// Why files do not make a TLS configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Correct the path, or the file's permissions.
    #[error("{what} {}: {error}", path.display())]
    Unreadable {
        /// What the file should hold.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Name the file that was meant.
    #[error("{what} {} is larger than {} KiB: name a file of PEM text", path.display(), super::pem::BYTES_MAX >> 10)]
    TooLarge {
        /// What the file should hold.
        what: &'static str,
        /// Where.
        path: PathBuf,
    },
    /// Name the file with the certificate, or convert it.
    #[error(
        "{what} {} has no -----BEGIN CERTIFICATE----- in it: PEM text is needed (from DER: openssl x509 -inform der)",
        path.display()
    )]
    NoCertificate {
        /// What the file should hold.
        what: &'static str,
        /// Where.
        path: PathBuf,
    },
    /// Name the file with the key.
    #[error(
        "key file {} has no -----BEGIN PRIVATE KEY----- in it: name the file with the private key, as PEM text",
        path.display()
    )]
    NoKey {
        /// Where.
        path: PathBuf,
    },
    /// Take the passphrase off: nobody is there to type it.
    #[error(
        "the key in {} is encrypted: write it without a passphrase (openssl pkey -in FILE) to a file that only this user may read",
        path.display()
    )]
    EncryptedKey {
        /// Where.
        path: PathBuf,
    },
    /// Make another key.
    #[error(
        "the key in {} cannot be used ({detail}): RSA from 2048 bits, ECDSA P-256 or P-384 and Ed25519 can",
        path.display()
    )]
    UnusableKey {
        /// Where.
        path: PathBuf,
        /// What the library says.
        detail: String,
    },
    /// Put the file back from where it came.
    #[error("{what} {} is damaged: {detail}", path.display())]
    Damaged {
        /// What the file should hold.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// Name files that belong together.
    #[error(
        "the key in {} does not belong to the first certificate in {}: name a pair, the server's own certificate first",
        key.display(), certificate.display()
    )]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// Install the system's certificates, or name a file.
    #[error(
        "this system has no CA certificates: install them (ca-certificates), or name a CA file"
    )]
    NoRoots,
    /// A setting that rustls refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}
