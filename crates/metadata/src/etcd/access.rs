//! With what etcd is asked: TLS, a user. Files are read for each use, so a changed one counts from the
//! next on, and no secret is kept.
use super::address::Address;
use dunlin_tls::{ClientFiles, ClientTls};
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A longer file holds no password.
const PASSWORD_BYTES_MAX: u64 = 4 << 10;

/// Where etcd is, and with what it is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdPlace {
    /// `etcd://host:port[,host:port...]`, or `etcds://` for TLS.
    pub endpoints: String,
    /// Whom to believe, and what to show; for TLS.
    pub tls: ClientFiles,
    /// Who asks; none, where etcd asks nobody.
    pub user: Option<EtcdUser>,
}

/// A user of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdUser {
    /// Its name.
    pub name: String,
    /// The file with its password.
    pub password_file: PathBuf,
}

impl From<&str> for EtcdPlace {
    fn from(endpoints: &str) -> EtcdPlace {
        EtcdPlace {
            endpoints: endpoints.to_owned(),
            ..EtcdPlace::default()
        }
    }
}

impl From<&String> for EtcdPlace {
    fn from(endpoints: &String) -> EtcdPlace {
        endpoints.as_str().into()
    }
}

impl EtcdPlace {
    pub(crate) fn has_tls_files(&self) -> bool {
        self.tls != ClientFiles::default()
    }

    /// The endpoints without a password that does not belong there.
    pub fn shown(&self) -> String {
        match self.endpoints.rsplit_once('@') {
            None => self.endpoints.clone(),
            Some((_, rest)) => format!("...@{rest}"),
        }
    }
}

/// What the files say now; else what is wrong with them, in one line.
pub(crate) fn add(address: &Address, options: ConnectOptions) -> Result<ConnectOptions, String> {
    let place = address.place();
    let mut options = options;
    if address.is_tls() {
        options = options.with_tls(tls(&place.tls)?);
    }
    if let Some(user) = &place.user {
        options = options.with_user(&user.name, password(&user.password_file)?);
    }
    Ok(options)
}

fn tls(files: &ClientFiles) -> Result<TlsOptions, String> {
    // Says what is wrong with them as it does everywhere, which etcd's client does not.
    ClientTls::client(files.clone(), &[]).map_err(|error| error.to_string())?;
    let read =
        |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut tls = TlsOptions::new();
    tls = match &files.ca {
        Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
        None => tls.with_native_roots(),
    };
    if let Some(identity) = &files.identity {
        let (certificate, key) = (read(&identity.certificate)?, read(&identity.key)?);
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    Ok(tls)
}

/// The first line of the file.
fn password(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let wrong = |what: &str| format!("password file {}: {what}", path.display());
    File::open(path)
        .and_then(|file| file.take(PASSWORD_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| wrong(&error.to_string()))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(wrong("its first line is empty, and should be the password")),
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
