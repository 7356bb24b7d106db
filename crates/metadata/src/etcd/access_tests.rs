#![allow(clippy::unwrap_used, clippy::disallowed_methods)]
use super::*;

#[test]
fn a_password_is_the_first_line_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    for (text, expected) in [
        ("open sesame", Some("open sesame")),
        ("open sesame\n", Some("open sesame")),
        (" spaced \r\nrest", Some(" spaced ")),
        ("", None),
        ("\nlater", None),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(password(&path).ok().as_deref(), expected, "{text:?}");
    }
    std::fs::remove_file(&path).unwrap();
    let line = password(&path).unwrap_err();
    assert!(
        line.contains("No such file") && line.contains("password"),
        "{line}"
    );
}

#[test]
fn what_is_wrong_with_files_is_known_before_etcd_is_asked() {
    let place = EtcdPlace {
        endpoints: "etcds://127.0.0.1:1".to_owned(),
        tls: ClientFiles {
            ca: Some("/nowhere/ca.pem".into()),
            identity: None,
        },
        user: None,
    };
    let address = Address::parse(place).unwrap();
    let line = add(&address, ConnectOptions::new()).err().unwrap();
    assert!(line.contains("CA file /nowhere/ca.pem"), "{line}");
}
