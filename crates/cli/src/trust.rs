//! TLS of whoever connects: whom to believe, and what to show.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use dunlin_client::{Client, ClientFiles, ClientTls, IdentityFiles};

use crate::failure::Failure;

/// For servers of `https://`.
#[derive(Debug, Clone, Default, Args)]
pub struct Trust {
    /// File with the CAs to believe, as PEM, for https:// [default: those of the system]
    #[arg(long, env = "DUNLIN_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// File with a certificate to show to servers that ask for one, as PEM
    #[arg(long, env = "DUNLIN_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// File with the private key of that certificate, as PEM
    #[arg(long, env = "DUNLIN_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

impl Trust {
    /// The files, none of which may be named.
    pub fn files(&self) -> Result<ClientFiles, Failure> {
        let names = ["--tls-cert", "--tls-key"];
        Ok(ClientFiles {
            ca: self.tls_ca.clone(),
            identity: identity(&self.tls_cert, &self.tls_key, names)?,
        })
    }

    /// What a client is to speak with; `None` leaves it to the system.
    pub fn tls(&self) -> Result<Option<Arc<ClientTls>>, Failure> {
        let files = self.files()?;
        if files == ClientFiles::default() {
            return Ok(None);
        }
        match Client::tls(files) {
            Ok(tls) => Ok(Some(tls)),
            Err(error) => Err(Failure::Usage(error.to_string())),
        }
    }
}

/// A certificate and its key: both or neither.
pub fn identity(
    certificate: &Option<PathBuf>,
    key: &Option<PathBuf>,
    names: [&str; 2],
) -> Result<Option<IdentityFiles>, Failure> {
    let [of_certificate, of_key] = names;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(IdentityFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Failure::Usage(format!(
            "{of_certificate} goes with {of_key}: name the file with the certificate's private key"
        ))),
        (None, Some(_)) => Err(Failure::Usage(format!(
            "{of_key} goes with {of_certificate}: name the file with the key's certificate"
        ))),
    }
}
