#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn one_member_or_several() {
    let one = Address::parse("etcd://127.0.0.1:2379".into()).unwrap();
    assert_eq!(one.members(), ["http://127.0.0.1:2379"]);
    let several = Address::parse("etcd://a:1,b.example:2,[::1]:3/".into()).unwrap();
    assert!(!several.is_tls());
    let secret = Address::parse("etcds://a:1,b:2".into()).unwrap();
    assert!(secret.is_tls());
    assert_eq!(secret.members(), ["https://a:1", "https://b:2"]);
    assert_eq!(secret.to_string(), "etcds://a:1,b:2");
    assert_eq!(
        several.members(),
        ["http://a:1", "http://b.example:2", "http://[::1]:3"]
    );
}

#[test]
fn anything_else_is_one_clear_line() {
    for text in [
        "",
        "a:1",
        "http://a:1",
        "etcd://",
        "etcd://a",
        "etcd://a:0",
        "etcd://a:1,",
        "etcd://a:1/x",
        "etcd://:1",
        "etcds://a",
    ] {
        let error = Address::parse(text.into()).unwrap_err().to_string();
        let line = format!(
            "metadata address {text:?}: must be etcd://HOST:PORT[,HOST:PORT...], or etcds:// for TLS"
        );
        assert_eq!(error, line);
    }
}

#[test]
fn what_would_not_count_or_should_not_be_there_is_refused() {
    let tls = dunlin_tls::ClientFiles {
        ca: Some("ca.pem".into()),
        identity: None,
    };
    let place = EtcdPlace {
        tls,
        ..EtcdPlace::from("etcd://a:1")
    };
    let error = Address::parse(place).unwrap_err().to_string();
    assert!(error.contains("write etcds://"), "{error}");
    let error = Address::parse("etcd://root:sesame@a:1".into()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("--etcd-password-file"), "{error}");
    assert!(
        error.contains("...@a:1") && !error.contains("sesame"),
        "{error}"
    );
}
