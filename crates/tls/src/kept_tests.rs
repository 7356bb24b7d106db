#![allow(clippy::unwrap_used, clippy::disallowed_methods)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::authority_tests::{Authority, file};
use crate::{ClientFiles, ClientTls, IdentityFiles, ServerFiles, ServerTls};

const NOW_S: u64 = 1_800_000_000;

fn server(identity: &IdentityFiles) -> Result<Arc<ServerTls>, TlsError> {
    let files = ServerFiles {
        identity: identity.clone(),
        client_ca: None,
    };
    ServerTls::server(files, &[b"http/1.1"])
}

fn refusal(identity: &IdentityFiles) -> String {
    let line = server(identity).unwrap_err().to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_wrong_with_files_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = Authority::new();
    let good = authority.identity(folder, "good", &["a.example"]);
    let other = authority.identity(folder, "other", &["a.example"]);
    server(&good).unwrap();
    let with = |certificate: &Path, key: &Path| IdentityFiles {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
    };
    let text = std::fs::read_to_string(&good.key).unwrap();
    let secret = text.lines().nth(1).unwrap();
    let cut = file(folder, "cut.key", &text[..text.len() / 2]);
    let encrypted = text.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let encrypted = file(folder, "encrypted.key", &encrypted);
    let garbled = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        &secret[..40]
    );
    let garbled = file(folder, "garbled.key", &garbled);
    let der = file(folder, "c.der", "\u{1}\u{2}");
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let no_certificate = file(folder, "bad.pem", no_certificate);
    let large = file(folder, "large.pem", &"x".repeat(2 << 20));
    let missing = folder.join("missing");
    for (identity, words) in [
        (with(&missing, &good.key), "No such file"),
        (with(&good.certificate, &missing), "No such file"),
        (with(folder, &good.key), "directory"),
        (with(&der, &good.key), "no -----BEGIN CERTIFICATE-----"),
        (with(&good.key, &good.key), "no -----BEGIN CERTIFICATE-----"),
        (with(&no_certificate, &good.key), "is damaged"),
        (with(&large, &good.key), "larger than 1024 KiB"),
        (
            with(&good.certificate, &good.certificate),
            "no -----BEGIN PRIVATE KEY-----",
        ),
        (with(&good.certificate, &cut), "is damaged"),
        (with(&good.certificate, &garbled), "cannot be used"),
        (with(&good.certificate, &encrypted), "is encrypted"),
        (with(&good.certificate, &other.key), "does not belong to"),
    ] {
        let line = refusal(&identity);
        assert!(line.contains(words), "{identity:?} gave {line:?}");
        assert!(!line.contains(&secret[..20]), "{line} holds a key");
    }
    let ca = ServerFiles {
        identity: good.clone(),
        client_ca: Some(no_certificate),
    };
    let line = ServerTls::server(ca, &[]).unwrap_err().to_string();
    assert!(
        line.starts_with("CA file") && line.contains("is damaged"),
        "{line}"
    );
    let kept = server(&good).unwrap();
    assert!(!format!("{kept:?}").contains(&secret[..20]));
}

#[test]
fn only_whole_files_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = Authority::new();
    let identity = authority.identity(folder, "s", &["a.example"]);
    let kept = server(&identity).unwrap();
    let first = kept.get();
    assert_eq!(kept.look(), Look::Same);

    // One of the pair is new: nothing is said before the second look, and then once.
    let (certificate, key) = authority.sign(&["b.example"], 2020, 2030);
    file(folder, "s.pem", &certificate);
    assert_eq!(kept.look(), Look::Same);
    assert!(matches!(kept.look(), Look::Failed(line) if line.contains("does not belong")));
    assert_eq!(kept.look(), Look::Same);
    assert!(
        Arc::ptr_eq(&first, &kept.get()),
        "a pair that does not match is in use"
    );

    file(folder, "s.key", &key);
    assert_eq!(kept.look(), Look::Changed);
    assert_eq!(kept.look(), Look::Same);
    let second = kept.get();
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(kept.validity().unwrap().until(), "2030-01-01 00:00:00 UTC");

    // A file that goes, and another trouble after it: each is told.
    std::fs::remove_file(&identity.key).unwrap();
    assert_eq!(kept.look(), Look::Same);
    assert!(matches!(kept.look(), Look::Failed(line) if line.contains("No such file")));
    file(folder, "s.key", "nothing");
    assert_eq!(kept.look(), Look::Same);
    assert!(matches!(kept.look(), Look::Failed(line) if line.contains("BEGIN PRIVATE KEY")));
    assert!(Arc::ptr_eq(&second, &kept.get()));
    file(folder, "s.key", &key);
    assert_eq!(kept.look(), Look::Changed);
}

#[test]
fn files_behind_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = Authority::new();
    // As a secret is mounted in a container: a link to a folder is turned to another one.
    for version in ["v1", "v2"] {
        std::fs::create_dir(folder.join(version)).unwrap();
        authority.identity(&folder.join(version), "s", &["a.example"]);
    }
    let now = folder.join("now");
    std::os::unix::fs::symlink("v1", &now).unwrap();
    let kept = server(&IdentityFiles {
        certificate: now.join("s.pem"),
        key: now.join("s.key"),
    })
    .unwrap();
    assert_eq!(kept.look(), Look::Same);
    let next = folder.join("next");
    std::os::unix::fs::symlink("v2", &next).unwrap();
    std::fs::rename(next, now).unwrap();
    assert_eq!(kept.look(), Look::Changed);
}

#[test]
fn open_keys_and_old_certificates_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = Authority::new();
    let identity = authority.identity(folder, "s", &["a.example"]);
    let kept = server(&identity).unwrap();
    assert_eq!(kept.warnings(NOW_S), Vec::<String>::new());
    open(&identity.key, 0o640);
    assert_eq!(kept.look(), Look::Changed);
    assert_eq!(kept.warnings(NOW_S), Vec::<String>::new());
    open(&identity.key, 0o644);
    assert_eq!(kept.look(), Look::Changed);
    let (certificate, key) = authority.sign(&["a.example"], 2000, 2001);
    let old = IdentityFiles {
        certificate: file(folder, "old.pem", &certificate),
        key: file(folder, "old.key", &key),
    };
    let lines = kept.warnings(NOW_S);
    assert!(
        matches!(&lines[..], [line] if line.contains("chmod 600")),
        "{lines:?}"
    );
    let lines = server(&old).unwrap().warnings(NOW_S);
    assert!(
        matches!(&lines[..], [line] if line.contains("expired on 2001-01-01")),
        "{lines:?}"
    );
}

#[test]
fn a_client_reads_its_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = Authority::new();
    let ca = authority.file(folder, "ca.pem");
    let identity = authority.identity(folder, "c", &["client"]);
    let files = ClientFiles {
        ca: Some(ca.clone()),
        identity: Some(identity.clone()),
    };
    let kept = ClientTls::client(files.clone(), &[]).unwrap();
    assert_eq!(kept.look(), Look::Same);
    file(folder, "ca.pem", &Authority::new().pem);
    assert_eq!(kept.look(), Look::Changed);
    for path in [&ca, &identity.certificate, &identity.key] {
        let saved = std::fs::read_to_string(path).unwrap();
        file(
            path.parent().unwrap(),
            path.file_name().unwrap().to_str().unwrap(),
            "",
        );
        assert!(
            ClientTls::client(files.clone(), &[]).is_err(),
            "{}",
            path.display()
        );
        std::fs::write(path, saved).unwrap();
    }
}
