//! The side that connects.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::sign::SingleCertAndKey;

use crate::error::TlsError;
use crate::identity::IdentityFiles;
use crate::kept::{Kept, Loaded};
use crate::provider::provider;
use crate::roots;

/// Where a client's settings are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientFiles {
    /// Which servers are believed; none named, those the system believes.
    pub ca: Option<PathBuf>,
    /// Who it is, for servers that ask.
    pub identity: Option<IdentityFiles>,
}

/// A client's settings, as its files say now.
pub type ClientTls = Kept<ClientConfig>;

impl Kept<ClientConfig> {
    /// Reads them. `protocols` are those of ALPN, the most wanted first.
    ///
    /// # Errors
    /// When they do not make a client.
    pub fn client(files: ClientFiles, protocols: &[&[u8]]) -> Result<Arc<ClientTls>, TlsError> {
        let protocols: Vec<Vec<u8>> = protocols.iter().map(|name| name.to_vec()).collect();
        let mut paths: Vec<PathBuf> = files.ca.iter().cloned().collect();
        if let Some(identity) = &files.identity {
            paths.extend([identity.certificate.clone(), identity.key.clone()]);
        }
        Kept::open(paths, move || load(&files, &protocols))
    }
}

fn load(files: &ClientFiles, protocols: &[Vec<u8>]) -> Result<Loaded<ClientConfig>, TlsError> {
    let roots = match &files.ca {
        Some(path) => roots::of_file(path)?,
        None => roots::of_system()?,
    };
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.to_string()))?
        .with_root_certificates(roots);
    let (mut config, identity) = match &files.identity {
        None => (builder.with_no_client_auth(), None),
        Some(identity) => {
            let loaded = identity.load()?;
            let resolver = Arc::new(SingleCertAndKey::from(loaded.certified));
            let config = builder.with_client_cert_resolver(resolver);
            (config, Some((identity, loaded.validity)))
        }
    };
    config.alpn_protocols = protocols.to_vec();
    let open = identity
        .as_ref()
        .filter(|(identity, _)| identity.is_key_open());
    Ok(Loaded {
        config: Arc::new(config),
        open_key: open.map(|(identity, _)| identity.key.clone()),
        certificate: identity
            .as_ref()
            .map(|(identity, _)| identity.certificate.clone()),
        validity: identity.map(|(_, validity)| validity),
    })
}
