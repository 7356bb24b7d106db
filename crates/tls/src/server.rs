//! The side that is connected to.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::SingleCertAndKey;

use crate::error::TlsError;
use crate::identity::IdentityFiles;
use crate::kept::{Kept, Loaded};
use crate::provider::provider;
use crate::roots;

/// Where a server's settings are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// Who it is.
    pub identity: IdentityFiles,
    /// Whose clients are let in; none named, anybody.
    pub client_ca: Option<PathBuf>,
}

/// A server's settings, as its files say now.
pub type ServerTls = Kept<ServerConfig>;

impl Kept<ServerConfig> {
    /// Reads them. `protocols` are those of ALPN, the most wanted first.
    ///
    /// # Errors
    /// When they do not make a server.
    pub fn server(files: ServerFiles, protocols: &[&[u8]]) -> Result<Arc<ServerTls>, TlsError> {
        let protocols: Vec<Vec<u8>> = protocols.iter().map(|name| name.to_vec()).collect();
        let mut paths = vec![
            files.identity.certificate.clone(),
            files.identity.key.clone(),
        ];
        paths.extend(files.client_ca.clone());
        Kept::open(paths, move || load(&files, &protocols))
    }
}

fn load(files: &ServerFiles, protocols: &[Vec<u8>]) -> Result<Loaded<ServerConfig>, TlsError> {
    let setup = |error: &dyn std::fmt::Display| TlsError::Setup(error.to_string());
    let identity = files.identity.load()?;
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(roots::of_file(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                .build()
                .map_err(|error| setup(&error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let resolver = SingleCertAndKey::from(identity.certified);
    let mut config = builder.with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = protocols.to_vec();
    Ok(Loaded {
        config: Arc::new(config),
        validity: Some(identity.validity),
        open_key: files
            .identity
            .is_key_open()
            .then(|| files.identity.key.clone()),
        certificate: Some(files.identity.certificate.clone()),
    })
}
