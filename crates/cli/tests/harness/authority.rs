//! An authority that signs certificates, and files of them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// Files of a certificate and its key.
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Another name than those it signs have, or OpenSSL takes them for signed by themselves.
        params
            .distinguished_name
            .push(DnType::CommonName, "an authority of tests");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// Its own certificate, as a file.
    pub fn file(&self, folder: &Path, name: &str) -> PathBuf {
        write(folder, name, &self.pem)
    }

    /// A certificate and its key for these names and numbers, good until a year.
    pub fn sign(&self, names: &[&str], until: i32) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// The same as files.
    pub fn pair(&self, folder: &Path, name: &str, names: &[&str], until: i32) -> Pair {
        let (certificate, key) = self.sign(names, until);
        Pair {
            certificate: write(folder, &format!("{name}.pem"), &certificate),
            key: write(folder, &format!("{name}.key"), &key),
        }
    }
}

/// A file that only its owner may read, put there in one go.
pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let (path, fresh) = (folder.join(name), folder.join(format!("{name}.new")));
    std::fs::write(&fresh, text).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(fresh, &path).unwrap();
    path
}
