//! For the tests: an authority that signs, and files of what it signed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::IdentityFiles;

/// Signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A certificate for these names, good for these years, and its key.
    pub fn sign(&self, names: &[&str], from: i32, until: i32) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// The same, as files.
    pub fn identity(&self, folder: &Path, name: &str, names: &[&str]) -> IdentityFiles {
        let (certificate, key) = self.sign(names, 2020, 2120);
        IdentityFiles {
            certificate: file(folder, &format!("{name}.pem"), &certificate),
            key: file(folder, &format!("{name}.key"), &key),
        }
    }

    pub fn file(&self, folder: &Path, name: &str) -> PathBuf {
        file(folder, name, &self.pem)
    }
}

/// Writes a file that only its owner may read.
pub fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}
